"""correct(): from recordings to a correction of what a calibrated simulator still does wrong."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance, version
from gapless.corrections.calibrated_split import split_for
from gapless.corrections.correct_settings import CorrectSettings as CorrectSettings
from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.operator.sensor_predictor import with_sensors
from gapless.corrections.payload_input import refuse_unstated
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.shared_motors import numbers_of
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.enough_data import left_out, seconds_of
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, corrected_joints, untrained
from gapless.errors import DataError, GaplessError
from gapless.identification.calibration import Calibration
from gapless.learning.checkpoint import Checkpoint
from gapless.measurement.judge import judged
from gapless.progress import Watch
from gapless.recordings.earlier_split import remembered
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Fold, Split
from gapless.robots import Robot
from gapless.verdict import Verdict
from gapless.worlds.mujoco_world import MujocoWorld
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
    seconds = least_seconds(split)
    how = (settings or CorrectSettings()).suited_to(split, seconds, robot)
    refuse_unstated(how.model_settings, split.test)
    training = _Training(robot, how, seconds, seed, checkpoint, restart, watch)
    final = Fold(split.learn, split.choose)
    found, world = training.trained(final, calibration)
    choose, faded = _chosen(training, split, found, world, calibration)
    found = replace(
        found,
        made_by=_made_by(how, split, seed, began) | found.made_by,
        choose=choose,
        faded=faded,
        test=training.verdict(split.test, split.motions["test"], found, world)[0],
    )
    useless = choose is None or not choose.improved or found.why_faded
    if useless and not keep_anyway:
        raise CorrectionRefusedError(found)
    return found


@dataclass(frozen=True)
class _Training:
    """Everything about a training but its recordings and the calibration below it."""

    robot: Robot | World
    how: CorrectSettings
    seconds: float
    seed: int
    checkpoint: Path | None
    restart: bool
    watch: Watch | None

    def trained(
        self, fold: Fold, calibration: Calibration | None, name: str = ""
    ) -> tuple[Correction, World]:
        """A correction, and the world that it was trained in."""
        how, learn, choose = self.how, list(fold.learn), list(fold.choose)
        world = world_for(self.robot, calibration, learn[0].rate)
        joints = corrected_joints(world.robot, how.joints)
        numbers = numbers_of(how.model_settings, world.robot, joints)
        left = left_out(world, learn, joints, numbers, self.seconds, how.horizon)
        contract = contract_for(
            world,
            learn[0].rate,
            model=how.model,
            settings=how.model_settings,
            head=how.head,
            joints=tuple(j for j in joints if j not in left),
            bound=how.bound,
            rate_limit=how.rate_limit,
            hold=how.hold,
            members=how.members,
        )
        task = Task(world, learn, choose, how.horizon, self.seed)
        start = untrained(contract, task, self.seed)
        file = self.checkpoint and self.checkpoint.with_name(self.checkpoint.name + name)
        kept = Checkpoint(file, question(start, task, how), self.restart)
        start = replace(with_sensors(start, task), made_by={"left_out": left})
        trainer = trainer_of(how.trainer, how.trainer_settings)
        return trainer.train(task, start, TrainingSession(kept, self.watch)), world

    def verdict(
        self, recordings: Recordings, motions: Sequence[str], found: Correction, world: World
    ) -> tuple[Verdict | None, dict[str, float]]:
        """What a correction does to replays, and the share of each output that is faded there."""
        corrected = CorrectedWorld(world, None, [found])
        verdict = judged(recordings, world, corrected, self.how.horizon, motions)
        return verdict, corrected.usage[0].to_dict()["faded"]


def _chosen(
    training: _Training,
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
        base = None if calibration is None else calibration.fold(k)
        # The last round counts, as in the final training, for which nothing chooses either.
        other, below = training.trained(Fold(fold.learn, ()), base, f".fold{k}")
        verdict, faded = training.verdict(fold.choose, [motion], other, below)
        verdicts.append(verdict)
        for name, share in faded.items():
            fading.setdefault(name, []).append(share)
    means = {name: sum(shares) / len(shares) for name, shares in fading.items()}
    return Verdict.mean([v for v in verdicts if v is not None]), means


def least_seconds(split: Split) -> float:
    """Data that every training of a split has, so that all correct as many joints."""
    parts = [list(split.learn), *(list(fold.learn) for fold in split.folds)]
    return min(map(seconds_of, parts))


def world_for(robot: Robot | World, calibration: Calibration | None, rate: float) -> World:
    """The calibrated world at the recordings' rate."""
    world = MujocoWorld(robot, rate) if isinstance(robot, Robot) else robot.at_rate(rate)
    return CorrectedWorld(world, calibration).world


def question(start: Correction, task: Task, how: CorrectSettings) -> dict[str, Any]:
    """What the result depends on: a stopped training resumes only for the same."""
    return {
        "settings": asdict(how),
        "start": start.fingerprint(),
        "seed": task.seed,
        "learn": fingerprint(task.learn),
        "choose": fingerprint(task.choose),
        "software": {name: version(name) for name in ("gapless", "mujoco", "torch")},
    }


def fingerprint(recordings: Recordings) -> str:
    """Short hash of recordings."""
    found = hashlib.sha256()
    for r in recordings:
        found.update(r.name.encode() + r.q.tobytes())
        found.update(b"" if r.target is None else r.target.tobytes())
    return found.hexdigest()[:16]


def _made_by(how: CorrectSettings, split: Split, seed: int, began: float) -> dict[str, Any]:
    return {
        **provenance(),
        **asdict(how),
        "seed": seed,
        "split": remembered(split),
        "seconds_of_data": round(sum(r.duration for r in split.learn), 1),
        "seconds": round(time.perf_counter() - began, 1),
    }
