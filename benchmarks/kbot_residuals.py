"""What a model of one walking run leaves unexplained in another, and what would explain it.

Each run of a free-standing robot is predicted by the model identified from the other. The error is
split by joint, lag, support and start. Then one group of parameters at a time is fitted to the
first half of the predicted run itself: an oracle, which no prediction may use. It is judged, as all
else here, by the replay error (mean |Δq| over 0.25 s, rad) on the second half.

    python benchmarks/kbot_residuals.py data/kbot_walk --models from_100.json from_50.json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from replay_limits import HORIZON, Run, regressions, repeats, size, start_oracles
from rich.console import Console
from rich.table import Table

from gapless.identification.calibration import Calibration
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.identification.settings import IdentifySettings
from gapless.recordings import Dataset
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

STEP = 0.004
DRIVES = ("kp@motors", "damping@motors", "frictionloss@motors", "armature@motors")
GROUPS: dict[str, tuple[str, ...]] = {
    "encoder zeros": ("encoder_bias",),
    "IMU tilt": ("imu_roll", "imu_pitch"),
    "ankle gains": ("kp/ankles", "kd/ankles"),
    "torque limits": ("effort@motors",),
    "delay": ("delay@all",),
    "floor friction, softness": ("floor_friction", "floor_softness"),
    "sole geometry": ("sole_x/feet", "sole_height/feet"),
    "drives by motor type": DRIVES,
}
SETTINGS = IdentifySettings(
    horizon=HORIZON,
    windows=24,
    physics_step=STEP,
    options={"tolerance": 5e-3, "iterations": 6},
    threads=1,
)


def splits(run: Run, world: MujocoWorld) -> list[tuple[str, float]]:
    """Name of a part of the error -> how large it is there, rad, or which share of its square."""
    errors, names = run.errors(world), world.robot.joints.names
    rows = [("all", size(errors))]
    rows += [(f"joint {n}", size(errors[..., [j]])) for j, n in enumerate(names)]
    steps = errors.shape[1]
    rows += [
        (f"after {1e3 * (t + 1) / world.rate:.0f} ms", size(errors[:, [t]]))
        for t in range(steps // 6 - 1, steps, steps // 6)
    ]
    rows += list(
        zip(
            ("share constant", "share between windows", "share within windows"),
            _frequencies(errors),
            strict=True,
        )
    )
    return rows + _supports(run, errors, names) + _bases(run, world)


def _frequencies(errors: np.ndarray) -> tuple[float, float, float]:
    """Shares of the squared error: the same in all windows, in all of a window, the rest."""
    whole, constant = np.nanmean(errors**2), np.nanmean(np.nanmean(errors, axis=(0, 1)) ** 2)
    slow = np.nanmean(np.nanmean(errors, axis=1) ** 2) - constant
    return tuple(float(x / whole) for x in (constant, slow, whole - constant - slow))  # type: ignore


def _supports(run: Run, errors: np.ndarray, names: Sequence[str]) -> list[tuple[str, float]]:
    """Of joints of the leg that stands or swings by the estimate, with a strike or without."""
    estimate = run.aligned.estimate
    assert estimate is not None
    index = run.spans[:, :1] + np.arange(1, errors.shape[1] + 1)
    legs = np.array([0 if name.startswith("left") else 1 for name in names])
    stands = estimate.standing[index][..., legs]
    begun = estimate.standing[run.spans[:, 0]][:, None]
    strikes = (estimate.standing[index] & ~begun).any(axis=(1, 2))
    return [
        ("leg that stands", size(np.where(stands, errors, np.nan))),
        ("leg that swings", size(np.where(stands, np.nan, errors))),
        (f"windows with a foot strike ({strikes.mean():.0%})", size(errors[strikes])),
        ("windows without one", size(errors[~strikes])),
    ]


def _bases(run: Run, world: MujocoWorld) -> list[tuple[str, float]]:
    """How much starts and the floor matter; and how old the orientation is that starts have."""
    start = run.windows(world).start
    assert start.base_pos is not None and start.base_lin_vel_w is not None
    none = np.zeros_like(start.base_lin_vel_w)
    still = replace(start, base_lin_vel_w=none, base_ang_vel_b=none)
    air = replace(still, base_pos=start.base_pos + np.array([0.0, 0.0, 1.0]))
    quat = run.clip.channels["imu_quat_wxyz"]
    fresh = np.r_[True, np.abs(np.diff(quat, axis=0)).max(axis=1) > 0]
    return [
        ("starts with a base at rest", size(run.errors(world, still))),
        ("without a floor", size(run.errors(world, air))),
        ("share of samples with a new orientation", float(fresh.mean())),
        ("longest time without one, s", float(np.diff(np.flatnonzero(fresh)).max() / world.rate)),
    ]


def oracles(run: Run, world: MujocoWorld, robot: Robot) -> list[tuple[str, float]]:
    """Group -> error on the second half, the group fitted to the first half of the same run."""
    fitter, rows = Fitter(robot, SETTINGS, FitCheckpoint(None), None), []
    everything = tuple(dict.fromkeys(n for g in GROUPS.values() for n in g if n != "kp/ankles"))
    for name, group in {**GROUPS, "all of these": everything}.items():
        found = fitter.fit([run.half(first=True)], world, group, quick_start=False)
        best = found.problem.simulator.candidate(found.values)
        fitted = world.variant(robot=best.robot, effects=best.effects)
        rows.append((name, size(run.errors(fitted)[run.late])))
    return rows


def report(title: str, rows: Sequence[tuple[str, float]], base: float | None = None) -> None:
    """Print a table; with an error to begin with, how much of it is gone."""
    table = Table("what", "value", *([] if base is None else ["change"]), title=title)
    for name, value in rows:
        change = [] if base is None else [f"{value / base - 1:+.0%}"]
        table.add_row(name, f"{value:.4f}", *change)
    Console(width=100).print(table)


def main() -> None:
    """Predict each run by the model of the other, and take what is left apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="dataset of two runs")
    parser.add_argument("--models", type=Path, nargs=2, required=True, help="of each run, in order")
    asked = parser.parse_args()
    clips, robot = list(Dataset.open(asked.data)), Robot.load("kbot_legs", mount="free")
    models = [Calibration.load(path).apply(robot) for path in asked.models]
    runs = [Run(clip, robot) for clip in clips]
    for run, other, (body, effects) in zip(runs, runs[::-1], models[::-1], strict=True):
        world = MujocoWorld(body, run.clip.rate, effects=effects, physics_step=STEP, threads=1)
        nominal = MujocoWorld(robot, run.clip.rate, physics_step=STEP, threads=1)
        late = size(run.errors(world)[run.late])
        report(f"{run.clip.name}: error of the other run's model", splits(run, world))
        rows = [("nominal", size(run.errors(nominal)[run.late])), ("as predicted", late)]
        rows += [*start_oracles(run, world), *regressions(run, other), *repeats(run)]
        report(f"{run.clip.name}: second half", rows + oracles(run, world, robot), late)


if __name__ == "__main__":
    main()
