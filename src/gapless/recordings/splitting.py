"""How recordings are divided: test motions first, then those that choose; the rest teaches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from gapless.errors import DataError, require_number, unknown
from gapless.recordings.earlier_split import EarlierSplit
from gapless.recordings.motion_identity import motions_of
from gapless.recordings.named_parts import named_parts
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import (
    PARTS,
    Fold,
    Split,
    distinct,
    motions_of_parts,
    refuse_leaks,
)
from gapless.recordings.unit_names import no_such_units, require_units, unit, units_of

ENOUGH = 4
"""Motions besides the test ones from which on some only choose; fewer are cross-validated."""

SHARE = 0.25
"""Of the motions that test, and of the others that choose."""

Stratum = Callable[[Recording], Hashable]
Key = Callable[[Recording], str]


def split_recordings(
    recordings: Recordings,
    *,
    by: Literal["motion", "unit"] = "motion",
    test: Recordings | Sequence[str] | float = SHARE,
    choose: float = SHARE,
    units: Collection[str] = (),
    seed: int = 0,
    like: Mapping[str, Any] | None = None,
    stratum: Stratum | None = None,
    learn: Sequence[str] = (),
) -> Split:
    """Divide recordings by what was commanded, by unit, or by name.

    Args:
        recordings: those flagged as unfit and those without commands are left out.
        by: what is not in two parts; by unit, motions recur on the units that test.
        test: share of the motions (or units) that test, recordings to test on, or patterns of
            their names.
        choose: share of the other motions that choose; 0 leaves nothing to choose by.
        units: test only on these units, and learn and choose only on the others.
        seed: of what is drawn.
        like: facts of an earlier split (`Split.to_dict`, `Calibration.split`); motions that it
            does not know teach, and where none of its choosing motions is there, some of them
            choose. By unit, its units test.
        stratum: kinds of recordings of which every part should have some.
        learn: patterns of the names of what is learned from and chosen by; unless `test` says
            otherwise, all others test.
    """
    pool, given, notes = named_parts(usable(recordings), learn, test)
    found = _divided(pool, by, given, choose, units, seed, like, stratum)
    return replace(found, notes=(*notes, *found.notes))


def _divided(
    pool: list[Recording],
    by: Literal["motion", "unit"],
    test: Recordings | float,
    choose: float,
    units: Collection[str],
    seed: int,
    like: Mapping[str, Any] | None,
    stratum: Stratum | None,
) -> Split:
    refuse_wrong_shares(by, choose, test)
    every = pool
    given = [] if isinstance(test, int | float) else usable(test)
    labels = motions_of([*pool, *given])
    motion_of = dict(zip(map(id, (*pool, *given)), labels, strict=True))
    require_number("seed", seed, least=0)
    rng, kind = np.random.default_rng(seed), stratum or (lambda _: "")

    def motion(recording: Recording) -> str:
        return motion_of[id(recording)]

    if like is not None and "units" in like:
        by, units = "unit", units or {*like["units"]["test"]} & {unit(r) for r in pool}
    known = None if like is None else EarlierSplit(like).among(pool, labels[: len(pool)])
    if not isinstance(test, int | float):
        refuse_leaks([labels[: len(pool)], labels[len(pool) :]])
        tested = [r for r in given if not units or unit(r) in units]
    elif known is not None and by == "motion":
        pool, tested = parted(pool, motion, known["test"])
    elif by == "motion" and not units and test and len(set(labels)) == 1:
        return cut_in_time(pool, PARTS)
    elif by == "unit":
        require_units(pool)
        units = units if units or like else drawn(pool, unit, test, rng, kind)
        tested = [r for r in pool if unit(r) in units]
    else:
        pool, tested = parted(pool, motion, drawn(pool, motion, test, rng, kind))
        tested = [r for r in tested if not units or unit(r) in units]
    pool = [r for r in pool if unit(r) not in units]
    if units and not (pool and tested):
        raise no_such_units(units, every)
    if known is not None and any(motion(r) in known["choose"] for r in pool):
        found = _with_choosers(pool, tested, motion, known["choose"])
    else:
        found = _with_choice(pool, tested, motion, choose, rng, kind)
    return found if by == "motion" else replace(found, units=units_of(found.parts))


def as_split(data: Split | Recordings, stratum: Stratum | None = None) -> Split:
    """A split as it is; recordings divided as usual."""
    return data if isinstance(data, Split) else split_recordings(data, stratum=stratum)


def judges(recordings: Recordings, test: Sequence[str] | float = SHARE, seed: int = 0) -> Split:
    """For what learns nothing from these recordings: some motions test, all others choose."""
    found = split_recordings(recordings, test=test, seed=seed)
    choose = [*found.learn, *found.choose]
    motions = {
        "learn": (),
        "choose": distinct(chain.from_iterable(found.motions[part] for part in PARTS[:2])),
        "test": found.motions["test"],
    }
    return Split((), choose, found.test, (Fold((), choose),), motions)


def refuse_wrong_shares(by: str, *shares: Recordings | float) -> None:
    """Shares are from 0 to below 1, and recordings are divided by motion or by unit."""
    if by not in ("motion", "unit"):
        raise unknown("way to split", by, ("motion", "unit"))
    for share in shares:
        if isinstance(share, int | float) and not 0 <= share < 1:
            raise DataError(f"a share of the motions is {share}; expected 0 to below 1")


def drawn(
    pool: Sequence[Recording], key: Key, share: float, rng: np.random.Generator, kind: Stratum
) -> set[str]:
    """A share of the motions (or units) of every kind of recordings, at least one, never all."""
    found: set[str] = set()
    for one in dict.fromkeys(map(kind, pool)) if share else ():
        names = sorted({key(r) for r in pool if kind(r) == one})
        if len(names) > 1 and not found & set(names):
            count = min(max(1, round(share * len(names))), len(names) - 1)
            found |= set(rng.permutation(names)[:count].tolist())
    if share and not found:
        raise DataError(
            f"there is one motion or unit only ({key(pool[0])}), so none can be held out; record "
            "another, or give recordings to test on"
        )
    return found


def _with_choice(
    pool: list[Recording],
    tested: list[Recording],
    motion: Key,
    share: float,
    rng: np.random.Generator,
    kind: Stratum,
) -> Split:
    """Let some motions choose; where they are few, each in turn; of one, the last stretch."""
    motions, named = distinct(map(motion, pool)), distinct(map(motion, tested))
    if share and len(motions) >= ENOUGH:
        return _with_choosers(pool, tested, motion, drawn(pool, motion, share, rng, kind))
    if share and len(motions) == 1:
        cut = cut_in_time(pool, PARTS[:2])
        return replace(cut, test=tested, motions={**cut.motions, "test": named})
    folds, notes = (), ()
    if share:
        folds = tuple(Fold(*parted(pool, motion, {m})) for m in motions)
        notes = (f"only {len(motions)} motions to learn from: each chose for the others in turn",)
    return Split(pool, [], tested, folds, {"learn": motions, "choose": (), "test": named}, notes)


def _with_choosers(
    pool: list[Recording], tested: list[Recording], motion: Key, names: Collection[str]
) -> Split:
    learn, choose = parted(pool, motion, names)
    parts = zip(PARTS, (learn, choose, tested), strict=True)
    motions = {part: distinct(map(motion, own)) for part, own in parts}
    return Split(learn, choose, tested, (Fold(learn, choose),), motions)


def parted(
    pool: Sequence[Recording], key: Key, names: Collection[str]
) -> tuple[list[Recording], list[Recording]]:
    """Recordings that are not of these motions (or units), and those that are."""
    return [r for r in pool if key(r) not in names], [r for r in pool if key(r) in names]


def cut_in_time(recordings: Sequence[Recording], parts: Sequence[str]) -> Split:
    """One motion, cut in time: the last quarter is the last part, the quarter before the second."""
    cuts: dict[str, list[Recording]] = {part: [] for part in PARTS}
    edges = [0.0, *(1 - SHARE * k for k in range(len(parts) - 1, -1, -1))]
    for r in recordings:
        at = [round(edge * len(r)) for edge in edges]
        for part, first, last in zip(parts, at[:-1], at[1:], strict=True):
            cuts[part].append(replace(r.clip(first, last), name=f"{r.name}#{part}"))
    named = {part: distinct(r.name for r in own) for part, own in cuts.items()}
    note = (
        f"there is one motion only ({recordings[0].name}) to {' and '.join(parts)} by, so it was "
        "cut in time. Record other motions to be sure"
    )
    learn, choose, tested = (cuts[part] for part in PARTS)
    return Split(learn, choose, tested, (Fold(learn, choose),), named, (note,))


def unseen(recordings: Recordings, learned: Recordings) -> list[Recording]:
    """Recordings of motions that are not learned from; with none left, an error says so."""
    clips = usable(recordings)
    known, labels = motions_of_parts([learned, clips])
    found = [r for r, name in zip(clips, labels, strict=True) if name not in set(known)]
    if not found:
        raise DataError(
            f"nothing is left to test on of {len(clips)} recordings: every motion is learned from "
            "too; learn from fewer motions (--learn PATTERNS, or a larger --test)"
        )
    return found


def usable(recordings: Recordings) -> list[Recording]:
    """Recordings that are fit for learning: not flagged, and with commands."""
    found = [r for r in recordings if not r.flags and r.target is not None]
    if not found:
        raise DataError(f"none of {len(recordings)} recordings can be used; see gapless check")
    return found
