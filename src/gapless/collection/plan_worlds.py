"""The worlds of a collection: the robots that are recorded, and their simulated replica."""

from __future__ import annotations

from pathlib import Path

from gapless.collection.plan import CollectionPlan
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.hidden import HiddenWorld


def target_world(plan: CollectionPlan, robot: Robot, unit: int, rate: float) -> HiddenWorld:
    """The robot that is recorded: one unit, at one rate."""
    return HiddenWorld(
        robot,
        plan.hidden,
        unit,
        plan.seed,
        only=plan.only,
        rate=rate,
        engine=plan.engine,
        physics_step=plan.physics_step,
    )


def replica_world(plan: CollectionPlan, robot: Robot, rate: float) -> MujocoWorld:
    """The nominal robot, which every sequence is paired with."""
    return MujocoWorld(robot, rate, physics_step=plan.physics_step)


def write_truths(plan: CollectionPlan, robot: Robot, path: Path) -> list[Path]:
    """Write the figures of every unit, each to a file of its own beside `path`.

    Returns:
        The files: truth.json becomes truth_unit1.json, truth_unit2.json, ...
    """
    written = []
    for unit in (*plan.units, *plan.held_out):
        written.append(path.with_stem(f"{path.stem}_unit{unit}"))
        target_world(plan, robot, unit, plan.rates[0]).write_truth(written[-1])
    return written
