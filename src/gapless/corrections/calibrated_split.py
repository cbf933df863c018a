"""What may teach, choose and test a correction on top of a calibration."""

from __future__ import annotations

from dataclasses import replace

from gapless.errors import DataError
from gapless.identification.calibration import Calibration
from gapless.recordings.earlier_split import EarlierSplit
from gapless.recordings.recording import Recordings
from gapless.recordings.split import NAMED, PARTS, Split, distinct
from gapless.recordings.splitting import as_split, split_recordings


def split_for(data: Split | Recordings, calibration: Calibration | None) -> Split:
    """The split of a correction: what a calibration was fitted to neither chooses nor tests.

    Nor does what chose the calibration test. Both are found by what was commanded; of a calibration
    that held out units, by the unit too.
    """
    if calibration is None:
        return as_split(data)
    if not calibration.split:
        return as_split(data).each(calibration.recordings)
    split = data if isinstance(data, Split) else split_recordings(data, like=calibration.split)
    before = EarlierSplit(calibration.split)
    leaks = [] if _agrees(split, calibration) else before.leaks(split)
    if split.cross_validated and not leaks:
        split = _in_order(split, before, calibration)
    if leaks:
        raise _refused(leaks)
    return split.each(calibration.recordings)


def _agrees(split: Split, calibration: Calibration) -> bool:
    """Whether a calibration that keeps no commands names the same motions: made with this split."""
    before = calibration.split
    if "commands" in before or "units" in before:
        return False
    return all(set(split.motions[part]) == set(before[part]) for part in PARTS[:2])


def _in_order(split: Split, before: EarlierSplit, calibration: Calibration) -> Split:
    """Folds in the calibration's order: each builds on the fit that did not see its motion."""
    order = before.order(split)
    if len((calibration.base or calibration).folds) != len(split.folds) or not order:
        raise _refused(split.motions["learn"])
    learn = tuple(split.motions["learn"][k] for k in order)
    folds = tuple(split.folds[k] for k in order)
    return replace(split, folds=folds, motions={**split.motions, "learn": learn})


def _refused(names: list[str] | tuple[str, ...]) -> DataError:
    some = ", ".join(distinct(names)[:NAMED])
    return DataError(
        f"the calibration was fitted to or chosen by motions that would choose or test here "
        f"({some}), whatever they are called; give both the same split, or identify again with "
        "motions left over"
    )
