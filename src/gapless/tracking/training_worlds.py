"""The worlds that trackers are trained in."""

from __future__ import annotations

from gapless.errors import DataError
from gapless.robots import Robot
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.varied_worlds import varied_world
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World

STEP = 0.005
"""Longest physics step of the nominal simulator, s."""


def world_to_train_in(given: Robot | World, settings: TrainSettings, seed: int = 0) -> World:
    """The world that was given, or the nominal simulator of a robot; several where asked for.

    Worlds that differ already are left as they are.
    """
    if seed < 0:
        raise DataError(f"seed is {seed}; give 0 or more")
    world = nominal_world(given) if isinstance(given, Robot) else given
    if not settings.vary or isinstance(world, MixedWorld):
        return world
    return varied_world(world, settings.vary, seed)


def nominal_world(robot: Robot, physics_step: float = STEP) -> World:
    """The simulator of a robot, as fast as it may be: few contacts a foot, long steps."""
    from gapless.worlds import MujocoWorld

    simple = robot.with_simple_feet() if robot.mount == "free" else robot
    return MujocoWorld(simple, physics_step=physics_step)
