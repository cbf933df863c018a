"""Residual torque from encoders alone, as the residual-dynamics paper studies it.

A hung leg follows ellipsoids at 500 Hz under PD; only its joint positions are logged. A network
learns the torque that the simulator lacks, and is judged on whole trajectories over ellipsoids that
it never saw. Prints mean |q error|, its standard deviation and quantiles, and how far the mean is
below PD alone. The paper's figure on its own robot is 0.021 ± 0.12 rad.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.corrections import CorrectedWorld, Correction, correct
from gapless.corrections.correcting import CorrectSettings
from gapless.errors import DataError
from gapless.measurement.replay import replay
from gapless.measurement.spans import FULL
from gapless.motions.ellipsoid import RATES, ellipsoid
from gapless.motions.limits import check_motion
from gapless.motions.motion import Motion
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.recordings.split import Split
from gapless.recordings.splitting import split_recordings
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.world import World

RATE = 500.0
RADII = np.array([0.06, 0.035, 0.05])
"""Of the mean ellipsoid along x, y and z, m; each is drawn 0.6 to 1.4 times as large."""
SPREAD = 0.6, 1.4

SEEN = ("q", "dq", "ddq", "target", "error")
"""The paper's observations, the acceleration that of the step before; and target - q, which is in
them but hard to find there."""

MODELS: dict[str, dict[str, Any]] = {
    "mlp": {"sizes": (256, 128, 64), "now": SEEN, "history": 0},
    "gru": {"units": 32, "now": SEEN},
}

TRAINERS: dict[tuple[str, str], dict[str, Any]] = {
    ("inverse", "mlp"): {"window": 0.1, "samples": 40000, "iterations": 300},
    ("inverse", "gru"): {
        "window": 0.3,
        "samples": 40000,
        "iterations": 150,
        "batch": 64,
        "noise": 0.2,
    },
    ("gradient", "mlp"): {"horizons": (0.2,), "iterations": 100, "samples": 10000},
    ("gradient", "gru"): {"horizons": (0.2,), "iterations": 100, "samples": 10000},
}


@dataclass(frozen=True)
class Row:
    """Errors of one method over all held-out trajectories, rad.

    Attributes:
        method: trainer and model.
        mean: of |q error| over joints and time.
        std: of the same.
        median: of the same.
        q90: 90 % are below.
        q99: 99 % are below.
        reduction: of the mean against PD alone.
        joints: mean of each joint.
        seconds: of training.
    """

    method: str
    mean: float
    std: float
    median: float
    q90: float
    q99: float
    reduction: float
    joints: dict[str, float]
    seconds: float


def leg() -> Robot:
    """The left leg of a G1, hung by its pelvis."""
    robot = Robot.load("g1", mount="fixed")
    kept = robot.joint_groups["left_leg"]
    return robot.lock([j for j in robot.joints.names if j not in kept])


def excitation(robot: Robot, seconds: float, count: int, seed: int) -> list[Motion]:
    """Ellipsoids of drawn size and speed, each within the limits of the robot."""
    rng, found = np.random.default_rng(seed), []
    for i in range(count):
        radii = tuple(RADII * rng.uniform(*SPREAD, 3))
        rates = tuple(np.array(RATES) * rng.uniform(*SPREAD))
        motion = ellipsoid(
            robot, seconds, RATE, foot="left", radii=radii, rates=rates, seed=1000 * seed + i
        )
        report = check_motion(motion, robot)
        if not report.ok:
            raise DataError(f"{motion.source}: {report}")
        found.append(replace(motion, name=f"ellipsoid_{seed}_{i}"))
    return found


def logged(world: HiddenWorld, motions: Sequence[Motion]) -> list[Recording]:
    """What the encoders of a hidden robot saw, and nothing else."""
    joints = world.robot.joints
    targets = np.tile(joints.default, (len(motions), len(motions[0].q), 1))
    for row, motion in enumerate(motions):
        targets[row][:, joints.pick(motion.joints)] = motion.q
    start = replace(world.home(len(motions)), q=targets[:, 0])
    played = world.rollout(start, targets)
    return [
        Recording(
            name=motion.name,
            joints=joints.names,
            rate=RATE,
            q=q[:-1],
            target=target,
            mask=np.ones(target.shape, bool),
            conditions=Conditions(mount="fixed"),
        )
        for motion, q, target in zip(motions, played.q, targets, strict=True)
    ]


def errors(test: Sequence[Recording], world: World) -> np.ndarray:
    """(samples, J) |q error| of whole trajectories."""
    joints = len(world.robot.joints.names)
    return np.concatenate(
        [np.abs(p.error[:, 1:]).reshape(-1, joints) for p in replay(test, world, FULL)]
    )


def row(
    method: str, found: np.ndarray, alone: float, names: Sequence[str], seconds: float = 0.0
) -> Row:
    """A method's row; an environment that diverged is an infinite error."""
    found = np.where(np.isfinite(found), found, np.inf)
    median, q90, q99 = np.quantile(found, (0.5, 0.9, 0.99)).tolist()
    each = dict(zip(names, found.mean(axis=0).tolist(), strict=True))
    mean = float(found.mean())
    return Row(method, mean, float(found.std()), median, q90, q99, 1 - mean / alone, each, seconds)


def learned(world: MujocoWorld, split: Split, trainer: str, model: str, seed: int) -> Correction:
    """A residual torque."""
    settings = CorrectSettings(
        model=model,
        head="torque",
        trainer=trainer,
        members=1,
        model_settings=MODELS[model],
        trainer_settings=TRAINERS[trainer, model],
    )
    # A method that does not help is shown as such.
    return correct(split.without_test(), world, settings=settings, seed=seed, keep_anyway=True)


def study(
    seconds: float, count: int, held_out: int, trainers: Sequence[str], seed: int
) -> list[Row]:
    """All rows; the first is PD alone."""
    robot = leg()
    world, hidden = MujocoWorld(robot, RATE), HiddenWorld(robot, "typical", rate=RATE)
    train = logged(hidden, excitation(robot, seconds, count, 2 * seed))
    test = logged(hidden, excitation(robot, seconds, held_out, 2 * seed + 1))
    split = split_recordings(train, test=test, seed=seed)
    found = errors(test, world)
    alone, names = float(found.mean()), robot.joints.names
    rows = [row("PD alone", found, alone, names)]
    for trainer in trainers:
        for model in MODELS:
            began = time.perf_counter()
            correction = learned(world, split, trainer, model, seed)
            taken = time.perf_counter() - began
            found = errors(test, CorrectedWorld(world, None, [correction]))
            rows.append(row(f"{trainer} {model}", found, alone, names, taken))
    return rows


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each trajectory")
    parser.add_argument(
        "--train", type=int, default=8, help="trajectories to learn from and choose by"
    )
    parser.add_argument("--held-out", type=int, default=3, help="trajectories to test on")
    parser.add_argument(
        "--trainers", nargs="+", default=["inverse"], choices=["inverse", "gradient"]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = study(options.seconds, options.train, options.held_out, options.trainers, options.seed)
    print("method           mean ± std      median  90 %    99 %    reduction  seconds")
    for r in rows:
        print(
            f"{r.method:15s}  {r.mean:.4f} ± {r.std:.4f} {r.median:.4f}  {r.q90:.4f}  {r.q99:.4f}"
            f"  {r.reduction:8.1%}  {r.seconds:7.0f}"
        )
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
