"""correct(): from recordings to a correction of what a calibrated simulator still does wrong."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gapless.artifact import provenance, version
from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.operator.sensor_predictor import with_sensors
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, refuse_too_few, untrained
from gapless.errors import GaplessError
from gapless.identification.calibration import Calibration
from gapless.identification.estimate import HeldOut
from gapless.learning.checkpoint import Checkpoint
from gapless.measurement.judge import replay_rmse
from gapless.progress import Watch
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import Split, divided
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World


class CorrectionRefusedError(GaplessError):
    """A correction that makes no held-out replay better.

    Attributes:
        correction: what was learned all the same.
    """

    def __init__(self, correction: Correction) -> None:
        self.correction = correction
        held = correction.held_out
        assert held is not None
        super().__init__(
            f"the correction does not improve replays it was not trained on: {held.before:.5f} rad "
            f"without, {held.after:.5f} rad with it; it is refused. Train on more varied motions, "
            "fewer joints (--joints) or a smaller model; --keep-anyway keeps it all the same"
        )


@dataclass(frozen=True)
class CorrectSettings:
    """What is learned, and how.

    Attributes:
        model: operator, actuator, mlp or gru.
        head: action, torque or state.
        trainer: gradient, inverse, autoregressive or ppo.
        joints: names or groups of the joints that are corrected; "all" is all.
        bound: largest output: rad for an action, share of the limit for a torque, deviations of
            the one-step error for a state.
        rate_limit: largest change of an output a step, as a share of its bound.
        hold: control steps that an output is held.
        members: networks in the ensemble.
        horizon: seconds of an episode, and of the replays it is judged by.
        model_settings: of the model.
        trainer_settings: of the trainer.
    """

    model: str = "operator"
    head: str = "action"
    trainer: str = "gradient"
    joints: tuple[str, ...] = ("all",)
    bound: float | None = None
    rate_limit: float | None = None
    hold: int = 1
    members: int = 2
    horizon: float = 1.0
    model_settings: dict[str, Any] = field(default_factory=dict)
    trainer_settings: dict[str, Any] = field(default_factory=dict)


def correct(
    dataset: Recordings,
    robot: Robot | World,
    calibration: Calibration | None = None,
    *,
    held_out: Recordings | float = 0.25,
    units: Sequence[str] = (),
    seen: Collection[str] = (),
    seed: int = 0,
    keep_anyway: bool = False,
    checkpoint: Path | None = None,
    restart: bool = False,
    watch: Watch | None = None,
    **choices: Any,
) -> Correction:
    """Learn what a simulator lacks to repeat recordings.

    Args:
        dataset: recordings of the robot, with commands.
        robot: the nominal robot, or a world of it.
        calibration: figures that the correction is learned on top of.
        held_out: recordings to judge by, or the share of motions to keep back.
        units: judge only by these units, and train only on the others.
        seen: motions that a world's figures were fitted to, those of the calibration included; they
            are kept back only where others do not suffice.
        seed: of the split, the weights and the training.
        keep_anyway: return a correction even where held-out replays do not improve.
        checkpoint: file that keeps progress; the same call goes on from it.
        restart: forget that progress.
        watch: told how far it is; see `gapless.corrections.training.trainer.TrainingProgress`.
        choices: fields of `CorrectSettings`.

    Raises:
        CorrectionRefusedError: held-out replays are no better; it carries the correction.
    """
    began = time.perf_counter()
    chosen = CorrectSettings(**choices)
    split = divided(dataset, held_out, units, seed, {*seen, *fitted_motions(calibration)})
    world = world_for(robot, calibration, split.train[0].rate)
    contract = contract_for(
        world,
        split.train[0].rate,
        model=chosen.model,
        settings=chosen.model_settings,
        head=chosen.head,
        joints=chosen.joints,
        bound=chosen.bound,
        rate_limit=chosen.rate_limit,
        hold=chosen.hold,
        members=chosen.members,
    )
    task = Task(world, split.train, split.validation, chosen.horizon, seed)
    refuse_too_few(contract, split.train)
    start = untrained(contract, task, seed)
    kept = Checkpoint(checkpoint, question(start, task, chosen), restart)
    start = with_sensors(start, task)
    trainer = trainer_of(chosen.trainer, chosen.trainer_settings)
    found = trainer.train(task, start, TrainingSession(kept, watch))
    found = replace(found, made_by=_made_by(chosen, split, seed, began))
    found = judged(found, world, split, chosen.horizon)
    if found.held_out is not None and not found.held_out.improved and not keep_anyway:
        raise CorrectionRefusedError(found)
    return found


def fitted_motions(calibration: Calibration | None) -> list[str]:
    """Motions that a calibration was fitted to."""
    return [] if calibration is None else list(calibration.made_by.get("motions", ()))


def world_for(robot: Robot | World, calibration: Calibration | None, rate: float) -> World:
    """The calibrated world at the recordings' rate."""
    world = MujocoWorld(robot, rate) if isinstance(robot, Robot) else robot.at_rate(rate)
    return CorrectedWorld(world, calibration).world


def question(start: Correction, task: Task, chosen: CorrectSettings) -> dict[str, Any]:
    """What the result depends on: a stopped training goes on only for the same."""
    return {
        "choices": asdict(chosen),
        "start": start.fingerprint(),
        "seed": task.seed,
        "train": fingerprint(task.train),
        "validation": fingerprint(task.validation),
        "software": {name: version(name) for name in ("gapless", "mujoco", "torch")},
    }


def fingerprint(recordings: Sequence[Recording]) -> str:
    """Short hash of recordings."""
    found = hashlib.sha256()
    for r in recordings:
        found.update(r.name.encode() + r.q.tobytes())
        found.update(b"" if r.target is None else r.target.tobytes())
    return found.hexdigest()[:16]


def judged(found: Correction, world: World, split: Split, horizon: float) -> Correction:
    """The correction with its error on recordings it never saw."""
    if not split.held_out:
        return found
    held = HeldOut(
        before=replay_rmse(split.held_out, world, horizon),
        after=replay_rmse(split.held_out, CorrectedWorld(world, None, [found]), horizon),
        horizon=horizon,
        motions=tuple(dict.fromkeys(r.name for r in split.held_out)),
    )
    return replace(found, held_out=held)


def _made_by(chosen: CorrectSettings, split: Split, seed: int, began: float) -> dict[str, Any]:
    return {
        **provenance(),
        **asdict(chosen),
        "seed": seed,
        "motions": list(dict.fromkeys(r.name for r in (*split.train, *split.validation))),
        "seconds_of_data": round(sum(r.duration for r in split.train), 1),
        "seconds": round(time.perf_counter() - began, 1),
    }
