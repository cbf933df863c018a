"""correct(): from recordings to a correction of what a calibrated simulator still does wrong."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance
from gapless.corrections.calibrated_split import split_for
from gapless.corrections.correct_settings import CorrectSettings as CorrectSettings
from gapless.corrections.correction_training import CorrectionTraining, least_seconds
from gapless.corrections.payload_input import refuse_unstated
from gapless.corrections.runtime.correction import Correction
from gapless.errors import DataError, GaplessError
from gapless.identification.calibration import Calibration
from gapless.progress import Watch
from gapless.recordings.earlier_split import remembered
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Fold, Split
from gapless.robots import Robot
from gapless.verdict import Verdict
from gapless.worlds.world import World

UNJUDGED = (
    "no motion chooses, so nothing says whether the correction helps; it is refused. Let some "
    "motions choose (--choose above 0; in Python a split with choosing motions), or keep it "
    "unjudged with --keep-anyway (keep_anyway=True)"
)


class CorrectionRefusedError(GaplessError):
    """A correction that does not improve the choosing motions, hardly acts in them, or is unjudged.

    Attributes:
        correction: what was learned all the same.
    """

    def __init__(self, correction: Correction) -> None:
        self.correction = correction
        if correction.choose is None:
            super().__init__(f"{UNJUDGED} (the choosing motions could not be replayed)")
            return
        if correction.why_faded:
            super().__init__(
                f"the correction is {correction.why_faded}; it is refused. "
                "--keep-anyway keeps it all the same"
            )
            return
        super().__init__(
            "the correction does not improve replays of motions it was not trained on: "
            f"{correction.choose}; it is refused. Train on more varied motions, fewer joints "
            "(--joints) or a smaller model; --keep-anyway keeps it all the same"
        )


def correct(
    data: Split | Recordings,
    robot: Robot | World,
    calibration: Calibration | None = None,
    *,
    settings: CorrectSettings | None = None,
    seed: int = 0,
    keep_anyway: bool = False,
    checkpoint: Path | None = None,
    restart: bool = False,
    watch: Watch | None = None,
) -> Correction:
    """Learn what a simulator lacks to repeat recordings.

    Args:
        data: recordings of the robot, with commands: a split of them, or all, which are then split
            as the calibration's were, or as `Dataset.split` does.
        robot: the nominal robot, or a world of it.
        calibration: parameters that the correction is learned on top of; recordings are counted as
            it found (`Calibration.recordings`).
        settings: what is learned, and how.
        seed: of the weights and the training.
        keep_anyway: return a correction even where the choosing motions do not improve, or where
            nothing chooses.
        checkpoint: file that keeps progress; the same call resumes from it.
        restart: forget that progress.
        watch: told how far it is; see `gapless.corrections.training.trainer.TrainingProgress`.

    Raises:
        CorrectionRefusedError: replays of the choosing motions are no better, or leave its
            envelope most of the time; it carries the correction.
        DataError: nothing can choose, or what chooses or tests taught the calibration.
    """
    began = time.perf_counter()
    split = split_for(data, calibration)
    if not split.folds and not keep_anyway:
        raise DataError(UNJUDGED)
    training = training_for(split, robot, settings, seed, checkpoint, restart, watch)
    found, world = training.trained(Fold(split.learn, split.choose), calibration)
    choose, faded = _chosen(training, split, found, world, calibration)
    found = replace(
        found,
        made_by=_made_by(training.how, split, seed, began) | found.made_by,
        choose=choose,
        faded=faded,
        test=training.verdict(split.test, split.motions["test"], found, world)[0],
    )
    useless = choose is None or not choose.improved or found.why_faded
    if useless and not keep_anyway:
        raise CorrectionRefusedError(found)
    return found


def training_for(
    split: Split,
    robot: Robot | World,
    settings: CorrectSettings | None,
    seed: int,
    checkpoint: Path | None,
    restart: bool = False,
    watch: Watch | None = None,
) -> CorrectionTraining:
    """How a split is trained on; see `correct`."""
    seconds = least_seconds(split)
    how = (settings or CorrectSettings()).suited_to(split, seconds, robot)
    refuse_unstated(how.model_settings, split.test)
    return CorrectionTraining(robot, how, seconds, seed, checkpoint, restart, watch)


def train_part(
    data: Split,
    robot: Robot | World,
    calibration: Calibration | None,
    number: int | None,
    *,
    settings: CorrectSettings | None,
    seed: int,
    checkpoint: Path,
    watch: Watch | None = None,
) -> None:
    """One of the trainings of `correct`, which then finds it in its checkpoint.

    Args:
        number: of a fold, where motions choose in turn; None is the final training.
        data, robot, calibration, settings, seed, checkpoint, watch: as `correct` is told.
    """
    split = split_for(data, calibration)
    training = training_for(split, robot, settings, seed, checkpoint, watch=watch)
    if number is None:
        training.trained(Fold(split.learn, split.choose), calibration)
    else:
        training.of_fold(split, number, calibration)


def _chosen(
    training: CorrectionTraining,
    split: Split,
    found: Correction,
    world: World,
    calibration: Calibration | None,
) -> tuple[Verdict | None, dict[str, float]]:
    """What decides: the choosing motions, or each learning motion for a training without it."""
    if not split.cross_validated:
        return training.verdict(split.choose, split.motions["choose"], found, world)
    verdicts, fading = [], dict[str, list[float]]()
    for k, (fold, motion) in enumerate(zip(split.folds, split.motions["learn"], strict=True)):
        other, below = training.of_fold(split, k, calibration)
        verdict, faded = training.verdict(fold.choose, [motion], other, below)
        verdicts.append(verdict)
        for name, share in faded.items():
            fading.setdefault(name, []).append(share)
    means = {name: sum(shares) / len(shares) for name, shares in fading.items()}
    return Verdict.mean([v for v in verdicts if v is not None]), means


def _made_by(how: CorrectSettings, split: Split, seed: int, began: float) -> dict[str, Any]:
    return {
        **provenance(),
        **asdict(how),
        "seed": seed,
        "split": remembered(split),
        "seconds_of_data": round(sum(r.duration for r in split.learn), 1),
        "seconds": round(time.perf_counter() - began, 1),
    }
