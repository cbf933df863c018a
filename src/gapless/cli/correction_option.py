"""What commands share that train or use corrections: recordings, calibrations, settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.errors import DataError, GaplessError, unknown
from gapless.recordings import Dataset

if TYPE_CHECKING:
    from gapless.corrections import CorrectedWorld
    from gapless.identification import Calibration


def calibration_of(file: Path | None, loaded: bool = False) -> Calibration | None:
    """The calibration that a command is given, where it is.

    Args:
        file: of gapless identify.
        loaded: that of the robot with the load which two stages found.
    """
    if file is None:
        if loaded:
            raise GaplessError("--loaded needs --calibration FILE, made with --plan two-stage")
        return None
    from gapless.identification import Calibration

    found = Calibration.load(file)
    if loaded and found.loaded is None:
        raise GaplessError(f"{file} has no load; it is made with --plan two-stage")
    return found.loaded if loaded else found


def trained_and_judged(
    dataset: Dataset, judge: Path | None, fit: Sequence[str], held_out: float, seed: int
) -> tuple[Dataset, Dataset | float]:
    """Recordings to train on, and those to judge by or their share.

    Args:
        dataset: to train on.
        judge: folder of another dataset to judge by; motions that are trained on are left out.
        fit: patterns of the motions to train on; all others are held out.
        held_out: share of the motions to hold out, where `fit` does not say.
        seed: of the choice.
    """
    usable = dataset.select(lambda episode: not episode.flags)
    if fit:
        usable, others = _by_name(usable, fit)
    elif judge is None:
        return usable, held_out
    elif held_out:
        usable, others = usable.split("motion", held_out, seed)
    if judge is None:
        return usable, others if len(others) else 0.0
    return usable, _judging(Dataset.open(judge), usable, judge)


def _by_name(dataset: Dataset, fit: Sequence[str]) -> tuple[Dataset, Dataset]:
    def fits(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in fit)

    chosen = dataset.select(lambda episode: fits(episode.name))
    if not len(chosen):
        raise GaplessError(
            f"no motion is named as {', '.join(fit)}; there are: {', '.join(dataset.motions)}"
        )
    return chosen, dataset.select(lambda episode: not fits(episode.name))


def _judging(judge: Dataset, trained: Dataset, where: Path) -> Dataset:
    """Recordings of another dataset whose motions were not trained on."""
    if (judge.robot, judge.rate) != (trained.robot, trained.rate):
        raise DataError(
            f"{where} is of {judge.robot!r} at {judge.rate:g} Hz, the training recordings are of "
            f"{trained.robot!r} at {trained.rate:g} Hz; both must be the same"
        )
    known = set(trained.motions)
    found = judge.select(lambda e: e.name not in known and not e.flags)
    if not len(found):
        raise DataError(
            f"every motion in {where} is trained on too, so nothing is left to judge by; train on "
            "fewer motions (--fit PATTERNS, or a larger --held-out)"
        )
    return found


def settings_of(option: str, texts: Sequence[str], usual: Any) -> dict[str, Any]:
    """KEY=VALUE pairs of an option; a value is a JSON literal, or a plain word.

    Args:
        option: its name, for messages.
        texts: as typed.
        usual: the model or trainer with its usual settings, whose fields these are.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise GaplessError(f"--{option} {text!r} is not understood; expected KEY=VALUE")
        if not hasattr(usual, name):
            raise unknown(f"setting (--{option})", name, vars(usual))
        found[name] = _like(getattr(usual, name), literal(value), option, text)
    return found


def literal(text: str) -> Any:
    """A JSON literal, or the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _like(usual: Any, value: Any, option: str, text: str) -> Any:
    """A value of the kind that is usual for its setting."""
    if usual is None:
        return value
    kind = {float: (int, float), tuple: list, list: list}.get(type(usual), type(usual))
    if not isinstance(value, kind) or isinstance(value, bool) != isinstance(usual, bool):
        raise GaplessError(f"--{option} {text!r}: expected a value such as {_shown(usual)}")
    return tuple(value) if isinstance(value, list) else value


def _shown(usual: Any) -> str:
    return json.dumps(usual) if isinstance(usual, str | int | float | tuple | list) else str(usual)


def usage_figures(world: CorrectedWorld) -> list[dict[str, Any]]:
    """What each correction of a world did, as plain JSON types."""
    pairs = zip(world.corrections, world.usage, strict=True)
    return [{"fingerprint": c.fingerprint(), **usage.to_dict()} for c, usage in pairs]
