"""Who learns, who chooses, who judges: recordings divided by motion and by unit, without leaks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.recordings.recording import Recording, Recordings

ENOUGH = 4
"""Motions from which on some are kept for choosing: only an unseen motion shows what holds."""

VALIDATION = 0.15
"""Share of the training motions that is kept for that."""


@dataclass(frozen=True)
class Split:
    """Recordings by their use; no motion is in two of them."""

    train: list[Recording]
    validation: list[Recording]
    held_out: list[Recording]


def divided(
    dataset: Recordings,
    held_out: Recordings | float = 0.25,
    units: Sequence[str] = (),
    seed: int = 0,
    seen: Collection[str] = (),
) -> Split:
    """Divide recordings by motion; units to judge by give nothing to training.

    Args:
        dataset: all recordings; those flagged as unfit are left out.
        held_out: recordings to judge by, or the share of motions to keep back.
        units: judge only by these units, and train only on the others.
        seed: of the choice.
        seen: motions that a calibration was fitted to; they judge only where others do not suffice.
    """
    usable = [r for r in (dataset[i] for i in range(len(dataset))) if not r.flags]
    if not usable:
        raise DataError(f"none of {len(dataset)} recordings can be used; see gapless check")
    rng = np.random.default_rng(seed)
    if isinstance(held_out, int | float):
        train, test = _by_motion(usable, float(held_out), rng, seen)
    else:
        train, test = usable, [held_out[i] for i in range(len(held_out))]
    if units:
        train = [r for r in train if r.conditions.unit not in units]
        test = [r for r in test if r.conditions.unit in units]
        if not train or not test:
            known = sorted({str(r.conditions.unit) for r in usable})
            raise DataError(
                f"units {', '.join(units)} leave nothing to train on or to judge by; the "
                f"recordings are of units {', '.join(known)}"
            )
    refuse_leaks(train, test)
    learn, choose = _for_choosing(train, rng)
    return Split(learn, choose, test)


def refuse_leaks(train: Sequence[Recording], test: Sequence[Recording]) -> None:
    """A motion must not be both learned and judged by."""
    shared = {r.name for r in train} & {r.name for r in test}
    if shared:
        some = ", ".join(sorted(shared)[:3])
        raise DataError(
            f"{len(shared)} motions are both in the training and in the held-out recordings "
            f"({some}); numbers on them would mean nothing. Split by motion"
        )


def _by_motion(
    usable: list[Recording], share: float, rng: np.random.Generator, seen: Collection[str]
) -> tuple[list[Recording], list[Recording]]:
    if not 0 <= share < 1:
        raise DataError(f"held_out is {share}; expected a share from 0 to below 1")
    names = sorted({r.name for r in usable})
    if not share:
        return usable, []
    if len(names) < 2:
        raise DataError(
            f"the dataset has one motion ({names[0]}), so none can be held out; record another, "
            "or pass --held-out 0 and judge it elsewhere"
        )
    drawn = sorted(rng.permutation(names).tolist(), key=lambda name: name in seen)
    kept = set(drawn[: max(1, round(share * len(names)))])
    return [r for r in usable if r.name not in kept], [r for r in usable if r.name in kept]


def _for_choosing(
    train: list[Recording], rng: np.random.Generator
) -> tuple[list[Recording], list[Recording]]:
    """Some motions to choose by; where there are few, all are learned from and chosen by."""
    names = sorted({r.name for r in train})
    if len(names) < ENOUGH:
        return train, train
    kept = set(rng.permutation(names)[: max(1, round(VALIDATION * len(names)))].tolist())
    return [r for r in train if r.name not in kept], [r for r in train if r.name in kept]
