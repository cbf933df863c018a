"""The folder of a finished run whose calibration and correction are known, made in no time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_json
from gapless.closing import Run
from gapless.closing.run import CALIBRATION, CORRECTION, REPLAYS
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate, nominal_figures
from gapless.measurement import side_by_side
from gapless.measurement.side_by_side import save_side_by_side
from gapless.parameters import Parameter, parameters_of
from gapless.recordings import Recording
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

STEP, SECONDS = 0.005, 2.0
SIZE = 0.1
"""Noise on the weights of a correction, so that it does something."""


def planted_run(
    folder: Path,
    robot: Robot,
    found: Mapping[str, float],
    *,
    rate: float = 50.0,
    step: float = STEP,
    **correction: Any,
) -> Run:
    """A run that identified `found` (name -> times or plus the prior) and learned some noise.

    Args:
        folder: of the run.
        robot: nominal.
        found: parameter names, e.g. {"kp": 0.7, "delay": 0.013}: factors of a figure that the
            robot has, values of one that it does not.
        rate: of the recordings.
        step: of the physics, s.
        correction: options of `contract_for`; none where `model` is None.
    """
    world = MujocoWorld(robot, rate, physics_step=step, threads=1)
    clips = [moved(world, seed) for seed in range(2)]
    run = Run.begin(folder, robot, facts(robot, clips, rate, step))
    calibration = calibrated(robot, found)
    calibration.save(folder / CALIBRATION)
    stage: dict[str, Any] = {"gap": None, "choose": None, "why": "", "usage": {}}
    write_json(folder / "raw.json", {**stage, "kept": True})
    write_json(folder / "identified.json", {**stage, "kept": True})
    learned = correction.get("model", "mlp") is not None
    if learned:
        learn(calibration.world(robot, rate, physics_step=step), clips, correction).save(
            folder / CORRECTION
        )
    write_json(folder / "corrected.json", {**stage, "kept": learned})
    write_json(folder / "summary.json", {"rows": {}, "horizon": 1.0})
    save_side_by_side(folder / REPLAYS, side_by_side(clips[:1], run.worlds(), 1.0))
    return run


def moved(world: MujocoWorld, seed: int) -> Recording:
    """A gentle motion of all joints around the default pose."""
    rng, time = np.random.default_rng(seed), np.arange(round(SECONDS * world.rate)) / world.rate
    joints = world.robot.joints
    phase, size = rng.uniform(0, 6, len(joints)), rng.uniform(0.02, 0.1, len(joints))
    wave = np.sin(2 * np.pi * 0.7 * time[:, None] + phase) - np.sin(phase)
    return record(world, joints.default + size * wave, f"wave_{seed}", start=world.home())


def facts(robot: Robot, clips: list[Recording], rate: float, step: float) -> dict[str, Any]:
    """What `close` would write of them."""
    told = {"source": robot.source or robot.name, "lock": dict(robot.locked)}
    return {
        "robot": {"name": robot.name, "mount": robot.mount, **told},
        "data": {"path": "", "rate": rate, "recordings": len(clips), "seconds": SECONDS},
        "settings": {"physics_step": step},
        "split": {"learn": [clips[0].name], "choose": [], "test": [clips[1].name]},
        "notes": [],
    }


def calibrated(robot: Robot, found: Mapping[str, float]) -> Calibration:
    """Each parameter at its figure, with intervals of five percent."""
    parameters = [(p, value) for name, value in found.items() for p in parameters_of(robot, [name])]
    nominal = nominal_figures(robot, Effects(), [p for p, _ in parameters])
    estimates = [
        Estimate(p, _figure(p, value), 0.05 * abs(_figure(p, value)), True, False, own)
        for (p, value), own in zip(parameters, nominal, strict=True)
    ]
    return Calibration(robot.name, tuple(estimates), np.eye(len(estimates)))


def _figure(parameter: Parameter, value: float) -> float:
    return value * parameter.prior if parameter.prior else value


def learn(world: MujocoWorld, clips: list[Recording], told: dict[str, Any]) -> Correction:
    """Random weights, with the envelope of the recordings."""
    told = {"model": "mlp", "bound": 0.05, **told}
    start = untrained(contract_for(world, world.rate, **told), Task(world, clips, clips))
    rng = np.random.default_rng(7)
    fixed = (".mean", ".deviation")
    weights = {
        k: v if k.endswith(fixed) else (v + SIZE * rng.standard_normal(v.shape)).astype(np.float32)
        for k, v in start.weights.items()
    }
    return start.with_weights(weights)
