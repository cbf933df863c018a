"""What commands share that train or use corrections: recordings, calibrations, settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.errors import DataError, GaplessError, unknown
from gapless.recordings import Dataset
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.corrections import CorrectedWorld
    from gapless.worlds import Effects


def calibrated(
    robot: Robot, recordings: Dataset, file: Path | None, loaded: bool = False
) -> tuple[Robot, Effects | None, Dataset]:
    """The robot as identified, and the recordings as it counts, where a calibration is given.

    Args:
        robot: the nominal one.
        recordings: of it.
        file: of gapless identify.
        loaded: with the load that it found, on the recordings that carry one.
    """
    if file is None:
        if loaded:
            raise GaplessError("--loaded needs --calibration FILE, made with --plan two-stage")
        return robot, None, recordings
    from gapless.identification import Calibration
    from gapless.identification.sign_conventions import with_signs
    from gapless.measurement.judge import without_loads

    calibration = Calibration.load(file)
    robot, effects = calibration.apply(robot)
    recordings = recordings.map(lambda recording: with_signs(recording, calibration.signs))
    if not loaded:
        if calibration.finds_loads:
            recordings = recordings.map(lambda recording: without_loads([recording])[0])
        return robot, effects, recordings
    if calibration.loaded is None:
        raise GaplessError(f"{file} has no load; it is made with --plan two-stage")
    full = recordings.select(lambda episode: episode.conditions.payloads != {})
    if not len(full):
        raise GaplessError("no recording is loaded: all state that nothing was carried (--loaded)")
    full = full.map(lambda recording: without_loads([recording])[0])
    return *calibration.loaded.apply(robot, effects), full


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
    usable = dataset.select(lambda episode: not episode.provenance.get("flags"))
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
    found = judge.select(lambda e: e.name not in known and not e.provenance.get("flags"))
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
