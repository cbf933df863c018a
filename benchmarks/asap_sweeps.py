"""ASAP's Figure 10 with our trainer: how much data, how long windows, how small an output.

A standing G1 (23 joints, target world PhysX + hidden `typical`) is identified once; then a delta
action is trained on more or less data, over shorter or longer windows, and with more or less weight
on its size. Prints E_g-mpjpe over 0.25, 0.5 and 1 s on motions that nothing was fitted to.

    gapless collect --robot g1 --mount free --lock WRISTS --motions stand --seconds 8 --hours 0.1 \\
        --units 1 --engine physx --hidden typical --out out/g1
    python benchmarks/asap_sweeps.py --data out/g1/fit/50hz --json out/sweeps.json
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gapless import CorrectedWorld, Dataset, MujocoWorld, correct, identify, measure
from gapless.artifact import write_json
from gapless.corrections.correcting import CorrectSettings
from gapless.identification import Calibration, IdentifySettings
from gapless.recordings import Split
from gapless.robots import Robot

HORIZONS = (0.25, 0.5, 1.0)
STEP = 0.004
USUAL: dict[str, Any] = {"horizons": (0.25, 0.5), "iterations": 80, "samples": 3000, "batch": 48}
SWEEPS: dict[str, dict[str, dict[str, Any]]] = {
    "data, s": {"60": {"data": 60}, "120": {"data": 120}, "all (272)": {}},
    "longest window, s": {
        "0.1": {"horizons": (0.05, 0.1)},
        "0.25": {"horizons": (0.1, 0.25)},
        "0.5": {},
        "1.0": {"horizons": (0.25, 0.5, 1.0)},
    },
    "weight of the output": {str(w): {"size": w} for w in (0.0, 1e-3, 1e-1, 1.0)},
}
"""What is swept -> value -> settings of the trainer that differ (`data` is seconds of motion)."""


@dataclass(frozen=True)
class Bench:
    """Recordings by their use, and what was identified."""

    world: MujocoWorld
    split: Split
    calibration: Calibration


def bench(folder: Path, calibration: Path | None) -> Bench:
    """Split by motion, and identify the actuators where that was not done before."""
    dataset = Dataset.open(folder)
    robot = Robot.load("g1", mount="free").lock(_missing(dataset))
    split = dataset.split("motion", test=0.25, seed=0)
    if calibration and calibration.exists():
        found = Calibration.load(calibration)
    else:
        how = IdentifySettings(horizon=0.5, windows=48, physics_step=STEP)
        found = identify(split.without_test(), robot, "actuators", settings=how)
        if calibration:
            found.save(calibration)
    return Bench(MujocoWorld(robot, dataset.rate, physics_step=STEP), split, found)


def _missing(dataset: Dataset) -> list[str]:
    """Joints that were locked in the recordings."""
    return [j for j in Robot.load("g1", mount="free").joints.names if j not in dataset[0].joints]


def shortened(split: Split, seconds: float | None) -> Split:
    """The same choosing motions, and only as many learning ones as make up some seconds."""
    if seconds is None:
        return split.without_test()
    kept, total = set[str](), 0.0
    for recording in split.learn:
        if total < seconds:
            kept.add(recording.name)
            total += recording.duration
    return Split.of([r for r in split.learn if r.name in kept], split.choose)


def judged(data: Bench, world: CorrectedWorld) -> dict[str, float]:
    """E_g-mpjpe by horizon, mm."""
    gap = measure(data.split.test, world, horizons=HORIZONS, windows=20)
    return {f"{h:g} s": gap.mean("e_g_mpjpe", h).value for h in HORIZONS}


def trained(data: Bench, changes: dict[str, Any]) -> CorrectedWorld:
    """The world with a correction whose training differs in one setting."""
    settings = USUAL | {k: v for k, v in changes.items() if k != "data"}
    correction = correct(
        shortened(data.split, changes.get("data")),
        data.world,
        data.calibration,
        settings=CorrectSettings(model="actuator", trainer_settings=settings),
        keep_anyway=True,  # a setting that does not help is shown as such
    )
    return CorrectedWorld(data.world, data.calibration, [correction])


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, help="file that keeps what was identified")
    parser.add_argument("--sweeps", nargs="*", default=list(SWEEPS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    data = bench(args.data, args.calibration)
    before = {
        "raw": judged(data, CorrectedWorld(data.world)),
        "identify": judged(data, CorrectedWorld(data.world, data.calibration)),
    }
    found: dict[str, dict[str, dict[str, float]]] = {"before": before}
    usual: dict[str, float] | None = None
    for name in args.sweeps:
        found[name] = {}
        for value, changes in SWEEPS[name].items():
            same = not changes or changes == {"size": 1e-3}
            result = usual if same and usual else judged(data, trained(data, changes))
            usual = result if same else usual
            found[name][value] = result
            Console(stderr=True).print(name, value, result)
            if args.json:  # a stopped run keeps the rows it has
                write_json(args.json, found)
    Console(width=100).print(table(found))


def table(found: dict[str, dict[str, dict[str, float]]]) -> Table:
    """One row a training."""
    shown = Table("what", "value", *(f"{h:g} s" for h in HORIZONS), title="E_g-mpjpe, mm")
    for name, rows in found.items():
        for value, errors in rows.items():
            shown.add_row(name, value, *(f"{e:.2f}" for e in errors.values()))
    return shown


if __name__ == "__main__":
    main()
