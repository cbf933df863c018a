"""Survival and velocity of public walkers on hidden robots, predicted before they walk there.

A hidden G1 (`hard`) is recorded while each walker follows some commands, `gapless.close` makes its
corrected simulator from these recordings, and both walkers are then evaluated under other
commands, with pushes: in the raw, the identified and the corrected simulator, and on the hidden
robot itself. Nothing of the last is used for anything but this table.

    python benchmarks/predict_policy.py --policies DIR --units 2 3 4 --out out/predict
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import Dataset, Evaluation, HiddenWorld, Policy, Robot, Run, Scenario, close, evaluate
from gapless.artifact import read_json, write_json
from gapless.evaluation.episode_recordings import episode_recordings
from gapless.evaluation.policy_episodes import play
from gapless.recordings import Recording

WALKERS = ("unitree_rl_mjlab_g1_velocity", "unitree_rl_lab_g1_velocity")
TAUGHT = (
    *((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.6, 0.0, 0.0), (-0.3, 0.0, 0.0), (0.0, 0.2, 0.0)),
    *((0.0, -0.2, 0.0), (0.0, 0.0, 0.2), (0.0, 0.0, -0.2), (0.4, 0.1, 0.1), (0.8, 0.0, -0.1)),
)
"""Commands of the recordings that teach and choose."""
TESTED = (
    *((0.5, 0.0, 0.0), (0.9, 0.0, 0.0), (-0.4, 0.0, 0.0), (0.2, 0.25, 0.0), (0.2, -0.25, 0.0)),
    *((0.1, 0.0, 0.15), (0.5, 0.0, -0.2), (0.7, 0.1, 0.0)),
)
"""Commands of the evaluation; none of them is above."""
SCORES = ("velocity_error", "turning_error", "tilt")


def recordings(walkers: list[Policy], real: HiddenWorld, unit: int) -> list[Recording]:
    """What the hidden robot's log shows of both walkers."""
    asked = Scenario(episodes=len(TAUGHT), seconds=10.0, commands=TAUGHT, seed=unit)
    return [
        clip
        for walker in walkers
        for clip in episode_recordings(
            play(walker, real, asked), walker.contract, asked, unit=str(unit)
        )
    ]


def closed(walkers: list[Policy], robot: Robot, real: HiddenWorld, unit: int, out: Path) -> Run:
    """The run of a unit; made once."""
    data, folder = out / f"data_{unit}", out / f"run_{unit}"
    if not data.exists():
        Dataset.from_recordings(recordings(walkers, real, unit), robot.name).save(data)
    return close(Dataset.open(data), robot, folder)


def evaluated(walker: Policy, run: Run, real: HiddenWorld, unit: int, push: float) -> Evaluation:
    """A walker in every simulator and on the robot, under held-out commands."""
    scenario = Scenario(episodes=32, seconds=10.0, commands=TESTED, push=push, seed=100 + unit)
    return evaluate(walker, {**run.worlds(), "robot": real}, scenario)


def cells(found: Evaluation) -> dict[str, dict[str, float]]:
    """World -> survival and scores."""
    return {
        world.world: {"survival": world.survival, **{name: world.mean(name) for name in SCORES}}
        for world in found.worlds
    }


def study(args: argparse.Namespace) -> dict[str, Any]:
    """Every unit, walker and push; those that the file has are not run again."""
    robot = Robot.load("g1", mount="free")
    walkers = [Policy.load(args.policies / name) for name in WALKERS]
    file = args.out / "predict.json"
    found = read_json(file) if file.exists() else {}
    for unit in args.units:
        real = HiddenWorld(robot, args.size, unit)
        for walker in walkers:
            for push in args.pushes:
                key = f"{walker.name} unit {unit} push {push:g}"
                if key not in found:
                    run = closed(walkers, robot, real, unit, args.out)
                    found[key] = cells(evaluated(walker, run, real, unit, push))
                    write_json(file, found)
                    Console(stderr=True).print(key, found[key])
    return found


def table(found: dict[str, Any], score: str) -> Table:
    """Predicted and seen, a row a case; the last row is the mean distance from the robot."""
    worlds = [
        w
        for w in ("raw", "identified", "corrected", "robot")
        if any(w in c for c in found.values())
    ]
    shown = Table(
        "case", *worlds, title=f"{score}: predicted by simulators, and what the robot did"
    )
    for case, cell in found.items():
        shown.add_row(case, *(f"{cell[w][score]:.3f}" if w in cell else "-" for w in worlds))
    away = {
        w: [abs(c[w][score] - c["robot"][score]) for c in found.values() if w in c] for w in worlds
    }
    shown.add_row(
        "mean distance from the robot",
        *(f"{np.mean(away[w]):.3f} ({len(away[w])})" for w in worlds),
    )
    return shown


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, required=True, help="folder of the two walkers")
    parser.add_argument("--units", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--size", default="hard", help="of the hidden robot's effects")
    parser.add_argument("--pushes", type=float, nargs="+", default=[0.0, 0.6], help="m/s")
    parser.add_argument("--out", type=Path, default=Path("out/predict"))
    args = parser.parse_args()
    found = study(args)
    for score in ("survival", *SCORES):
        Console(width=140).print(table(found, score))


if __name__ == "__main__":
    main()
