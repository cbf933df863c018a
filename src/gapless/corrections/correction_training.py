"""The trainings of a correction: the final one, and one for each motion that chooses in turn."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gapless.artifact import version
from gapless.corrections.correct_settings import CorrectSettings
from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.operator.sensor_predictor import with_sensors
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.shared_motors import numbers_of
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.enough_data import left_out, seconds_of
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, corrected_joints, untrained
from gapless.identification.calibration import Calibration
from gapless.learning.checkpoint import Checkpoint
from gapless.measurement.judge import judged
from gapless.progress import Watch
from gapless.recordings.recording import Recordings
from gapless.recordings.split import Fold, Split
from gapless.robots import Robot
from gapless.verdict import Verdict
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World


@dataclass(frozen=True)
class CorrectionTraining:
    """Everything about a training but its recordings and the calibration below it.

    Attributes:
        robot: nominal, or a world of it.
        how: it is trained, suited to the recordings.
        seconds: of data that every training of the split has.
        seed: of the weights and the training.
        checkpoint: file that keeps progress; those of folds are beside it.
        restart: forget that progress.
        watch: told how far it is.
    """

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

    def of_fold(
        self, split: Split, number: int, calibration: Calibration | None
    ) -> tuple[Correction, World]:
        """Trained without the motion that chooses in a fold, on the fit that lacks it too."""
        base = None if calibration is None else calibration.fold(number)
        # The last round counts, as in the final training, for which nothing chooses either.
        return self.trained(Fold(split.folds[number].learn, ()), base, fold_name(number))


def fold_name(number: int) -> str:
    """What the checkpoint of a fold's training has behind its name."""
    return f".fold{number}"


def trainings_of(split: Split) -> list[int | None]:
    """The final training (None), and that of each fold where motions choose in turn."""
    return [None, *(range(len(split.folds)) if split.cross_validated else ())]


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
