"""SimLifter's bench: hidden H1-2 arms carry 0 to 3 kg a hand; units 1 to 3 teach, unit 4 judges.

Prints the mean joint error (MPJAE) of full replays by payload, on motions and a unit that no method
saw, for the raw simulator, the operator alone, identification, and both; and the offset of the hands
in the delivery task: each model says which targets bring the hands to a place under load, and unit 4
is driven there with them.

    python benchmarks/simlifter.py --data out/simlifter --hours 1 --json out/simlifter.json
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from gapless import Dataset, World, identify
from gapless import measure as measured
from gapless.collect import Collection, collect, preset
from gapless.identify import Calibration, Settings
from gapless.robots import Robot

FIGURES = ("strength", "damping", "armature", "frictionloss", "encoder_bias", "delay@all")
"""Identified: a motor's strength scales its gains and its limit, which heavy loads reach."""

UNIT = 4
HOLD = 1.0
"""Seconds at the end of a delivery over which the hands are looked at."""


@dataclass(frozen=True)
class Bench:
    """Recordings of units 1 to 3, and of unit 4 in motions that are not among them."""

    robot: Robot
    train: Dataset
    test: Dataset


def bench(folder: Path, hours: float, rate: int = 50) -> Bench:
    """Collect the recordings, or go on from an earlier collection in the same folder."""
    plan = replace(preset("simlifter"), hours=hours, rates=(rate,), repeats=1)
    collect(plan, folder)
    collection = Collection.open(folder)
    fit, other = (collection.dataset(split, rate) for split in ("fit", "held_out"))
    train, _ = fit.split("motion", test=0.2, seed=0)
    seen = set(train.motions)
    robot = Robot.load(plan.robot, mount=plan.mount, lock=plan.lock)
    return Bench(robot, train, other.select(lambda episode: episode.name not in seen))


def by_payload(data: Dataset, world: World) -> dict[str, float]:
    """Mean joint error of full replays by the load on each hand, rad."""
    gap = measured(data, world, horizons=("full",))
    return {name: mean.value for name, mean in gap.by("payload", "mpjae", "full").items()}


def identified(data: Bench) -> Calibration:
    """Figures of the mean of units 1 to 3."""
    return identify(
        data.train,
        data.robot,
        FIGURES,
        held_out=0.1,
        settings=Settings(fragments=96),
        keep_anyway=True,
    )
