"""The worlds that trackers are trained in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapless.errors import DataError
from gapless.identification.calibration import Calibration
from gapless.parameters.held_loads import refuse_heavy_load
from gapless.robots import Robot
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.varied_worlds import varied_world
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World

if TYPE_CHECKING:
    from gapless.corrections import CorrectedWorld

STEP = 0.005
"""Longest physics step of the nominal simulator, s."""


def world_to_train_in(given: Robot | World, settings: TrainSettings, seed: int = 0) -> World:
    """The world that was given, or the nominal simulator of a robot; several where asked for.

    Worlds that differ already are left as they are. All are as fast as they may be.
    """
    if seed < 0:
        raise DataError(f"seed is {seed}; give 0 or more")
    world = nominal_world(given) if isinstance(given, Robot) else given
    refuse_heavy_load(world.robot)
    if settings.vary and not isinstance(world, MixedWorld):
        world = varied_world(world, settings.vary, seed, settings.ranges)
    return quick_world(world)


def nominal_world(robot: Robot, physics_step: float = STEP) -> World:
    """The simulator of a robot, as fast as it may be: few contacts a foot, long steps."""
    from gapless.worlds import MujocoWorld

    return quick_world(MujocoWorld(robot, physics_step=physics_step))


def calibrated_world(
    calibration: Calibration, robot: Robot, physics_step: float = STEP
) -> CorrectedWorld:
    """A robot as a calibration has it, with the load that its second stage found.

    What was found of a robot that was held, one foot clamped, holds for the same one on its feet.

    Args:
        calibration: of this robot, whatever it was mounted on.
        robot: nominal, as it shall be trained or evaluated.
        physics_step: longest physics step, s.
    """
    from gapless.corrections import CorrectedWorld
    from gapless.worlds import MujocoWorld

    nominal = MujocoWorld(robot, physics_step=physics_step)
    carrying = calibration.loaded or calibration
    world = CorrectedWorld(nominal, carrying)
    bare = robot if carrying.base is None else carrying.base.apply(robot)[0]
    refuse_heavy_load(world.robot, bare)
    return world


def quick_world(world: World) -> World:
    """The same robot on a floor in MuJoCo with few contacts a foot; its physics steps stay.

    Longer steps would be another robot where drives are stiff or friction is large: a tracker that
    survives steps of 2 ms may fall with 5 ms. Corrections stay. Other engines, hidden robots and
    robots that are held are left as they are.
    """
    from gapless.corrections import CorrectedWorld
    from gapless.worlds import MujocoWorld

    if isinstance(world, MixedWorld):
        return MixedWorld([quick_world(one) for one in world.worlds])
    if isinstance(world, CorrectedWorld):
        return world.on(quick_world(world.world))
    if not isinstance(world, MujocoWorld) or world.robot.mount != "free":
        return world
    return world.variant(robot=world.robot.with_simple_feet())
