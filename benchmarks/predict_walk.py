"""How fast a public walker goes on a hidden G1, predicted from recordings of other commands.

Each hidden unit (PhysX, `typical`) is recorded under 14 commands of 10 s with `collect`,
`gapless.close` makes its simulators from them with its defaults, and the walking velocities under
8 other commands are predicted in the raw, the identified and the corrected simulator. A walk is
chaotic: the robot walks each of these commands several times, and the table says what that still
leaves open, which is the error that a perfect simulator would show. Where the base is not logged,
the recordings that teach show encoders, targets and torques alone, or with an IMU's orientation and
turning rate; those that judge always show it.
A cell that the file has is not made again; a cell that was stopped goes on.

    python benchmarks/predict_walk.py --policies DIR --units 11 12 13 --out out/walk
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import Dataset, Policy, Robot, close
from gapless.artifact import read_json, write_json
from gapless.collection import CollectionPlan, collect
from gapless.evaluation import WalkPrediction, predict_walks

WALKERS = ("unitree_rl_mjlab_g1_velocity", "unitree_rl_lab_g1_velocity")
TAUGHT = (
    *((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.6, 0.0, 0.0), (0.8, 0.0, 0.0), (-0.3, 0.0, 0.0)),
    *((0.0, 0.2, 0.0), (0.0, -0.2, 0.0), (0.0, 0.0, 0.2), (0.0, 0.0, -0.2), (0.4, 0.1, 0.1)),
    *((0.7, 0.0, -0.1), (0.2, -0.15, 0.0), (-0.2, 0.0, 0.15), (0.5, 0.0, 0.2)),
)
"""Commands of the recordings that teach and choose."""
TESTED = (
    *((0.5, 0.0, 0.0), (0.9, 0.0, 0.0), (-0.4, 0.0, 0.0), (0.2, 0.25, 0.0), (0.2, -0.25, 0.0)),
    *((0.1, 0.0, 0.15), (0.5, 0.0, -0.2), (0.7, 0.1, 0.0)),
)
"""Commands that are predicted; none of them is above."""
AXES = ("vx", "vy", "wz")


def recorded(args: argparse.Namespace, walker: str, unit: int, use: str, logged: str) -> Dataset:
    """Walks of a unit; made once."""
    plan = CollectionPlan(
        robot="g1",
        mount="free",
        policy=str(args.policies / walker),
        commands=TAUGHT if use == "learn" else TESTED,
        base=logged == "logged",
        imu=logged == "imu",
        seconds=args.seconds,
        units=(unit,),
        repeats=1 if use == "learn" else args.takes,
        hidden=args.hidden,
        engine=args.engine,
    )
    return collect(plan, args.out / walker / f"unit{unit}" / f"{use}_{logged}").dataset()


def predicted(args: argparse.Namespace, walker: str, unit: int, logged: str) -> dict[str, Any]:
    """One cell: recordings, simulators, predictions."""
    robot = Robot.load("g1", mount="free")
    data = recorded(args, walker, unit, "learn", logged)
    folder = args.out / walker / f"unit{unit}" / f"run_{logged}"
    begun = time.perf_counter()
    run = close(data, robot, folder)
    seconds = time.perf_counter() - begun
    found: WalkPrediction = predict_walks(
        Policy.load(args.policies / walker, robot),
        run.worlds(),
        recorded(args, walker, unit, "test", "logged"),
        taught=run.taught,
        episodes=args.episodes,
    )
    Console(stderr=True, width=140).print(found)
    return found.to_dict() | {"close_seconds": seconds}


def study(args: argparse.Namespace) -> dict[str, Any]:
    """Every walker, unit and log; those that the file has are not run again."""
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "predict_walk.json"
    found = read_json(file) if file.exists() else {}
    for walker in args.walkers:
        for unit in args.units:
            for logged in args.base:
                key = f"{walker} unit {unit} base {logged}"
                if key not in found:
                    found[key] = predicted(args, walker, unit, logged)
                    write_json(file, found)
    return found


def table(found: dict[str, Any]) -> Table:
    """Mean errors of vx, vy (m/s) and wz (rad/s), a row a cell; a stage that was not kept is "-".

    The last rows are means over units; a stage that was not kept counts as the one before it.
    """
    stages = ("raw", "identified", "corrected")
    last = "a perfect simulator"
    shown = Table("case", *stages, last, title="error of predicted vx, vy (m/s), wz (rad/s)")
    groups: dict[str, list[dict[str, np.ndarray]]] = {}
    for case, cell in found.items():
        errors = {w: np.array([e[a] for a in AXES]) for w, e in cell["errors"].items()}
        errors[last] = np.array([cell["floor"][a] for a in AXES])
        shown.add_row(case, *(_text(errors.get(column)) for column in (*stages, last)))
        for before, stage in pairwise(stages):
            errors.setdefault(stage, errors[before])
        walker, rest = case.split(" unit ")
        groups.setdefault(f"{walker}, {rest.partition(' ')[2]}, mean", []).append(errors)
    for name, cells in groups.items():
        means = (np.mean([cell[column] for cell in cells], axis=0) for column in (*stages, last))
        shown.add_row(name, *map(_text, means))
    return shown


def _text(errors: np.ndarray | None) -> str:
    return "-" if errors is None else " ".join(f"{e:.4f}" for e in errors)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, required=True, help="folder of the walkers")
    parser.add_argument("--walkers", nargs="+", default=list(WALKERS[:1]), choices=WALKERS)
    parser.add_argument("--units", type=int, nargs="+", default=[11, 12, 13])
    parser.add_argument(
        "--base", nargs="+", default=["logged"], choices=("logged", "imu", "missing")
    )
    parser.add_argument("--hidden", default="typical", help="size of the hidden effects")
    parser.add_argument("--engine", default="physx", help="of the hidden robot")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each walk")
    parser.add_argument("--takes", type=int, default=8, help="of each walk that judges, 2 or more")
    parser.add_argument("--episodes", type=int, default=128, help="in each simulator")
    parser.add_argument("--out", type=Path, default=Path("out/walk"))
    Console(width=140).print(table(study(parser.parse_args())))


if __name__ == "__main__":
    main()
