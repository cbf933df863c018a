"""Worlds that differ as a robust training wants: within tables of ranges, or within intervals."""

from __future__ import annotations

import numpy as np

from gapless.corrections import CorrectedWorld
from gapless.errors import DataError
from gapless.tracking.variation_ranges import INTERVALS, RANGES
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World


def varied_world(world: World, count: int, seed: int = 0, ranges: str = "") -> MixedWorld:
    """Worlds like one: within the intervals of its calibration, or within a table of ranges.

    Args:
        world: the simulator of a robot, or a corrected one, whose corrections stay.
        count: how many worlds.
        seed: of what is drawn.
        ranges: a name of `RANGES`, or "intervals"; by default intervals of a calibrated world, and
            ASAP's Table VI of a nominal one.
    """
    corrected = world if isinstance(world, CorrectedWorld) else None
    inner = _inner(world)
    ranges = ranges or ("asap" if corrected is None else INTERVALS)
    if ranges == INTERVALS:
        return world_within(world, count, seed)
    if not isinstance(inner, EngineWorld):
        raise DataError("only the simulator of a robot can be varied, not a hidden robot")
    rng = np.random.default_rng([seed, 6])
    drawn = [RANGES[ranges].draw(inner, rng) for _ in range(count)]
    return MixedWorld(drawn if corrected is None else [corrected.on(each) for each in drawn])


def can_be_varied(world: World) -> bool:
    """Whether there is a simulator whose figures can be changed."""
    return isinstance(_inner(world), EngineWorld)


def _inner(world: World) -> World:
    return world.world if isinstance(world, CorrectedWorld) else world


def world_within(world: World, count: int, seed: int = 0) -> MixedWorld:
    """Worlds whose identified parameters are drawn from their joint uncertainty.

    None is outside its 95 % interval. Corrections stay: they were learned at the identified values.
    Of a robot with a load that was found after the robot itself, only the load differs: its
    intervals hold what the robot's own figures leave open.

    Args:
        world: a calibrated one, such as that of a run.
        count: how many worlds.
        seed: of what is drawn.
    """
    calibration = world.calibration if isinstance(world, CorrectedWorld) else None
    if not isinstance(world, CorrectedWorld) or calibration is None:
        raise DataError(
            "there are no intervals to vary within: this simulator has no identified parameters. "
            "Vary the nominal one (--world mujoco --vary N), or tune in this one as it is"
        )
    rng, ranges = np.random.default_rng([seed, 7]), calibration.ranges()
    drawn = [calibration.sample(rng) for _ in range(count)]
    within = [
        found.with_values({k: float(np.clip(v, *ranges[k])) for k, v in found.values.items()})
        for found in drawn
    ]
    return MixedWorld([world.calibrated_as(found) for found in within])
