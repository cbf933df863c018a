"""What the stages of a plan share."""

from __future__ import annotations

import mujoco

from gapless import Robot
from gapless.identification import IdentifySettings
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitter import Fitter
from gapless.worlds import MujocoWorld


def fitter(robot: Robot) -> Fitter:
    """With the usual settings."""
    return Fitter(robot, IdentifySettings(), FitCheckpoint(None), None)


def contacts(world: MujocoWorld) -> int:
    """Of a robot that has stood for a while."""
    data = mujoco.MjData(world.model)
    mujoco.mj_resetDataKeyframe(world.model, data, 0)
    for _ in range(20):
        mujoco.mj_step(world.model, data)
    return data.ncon


def test_fits_on_a_floor_have_feet_of_few_contacts() -> None:
    """Verdicts do not: the fitter itself keeps the robot's own feet."""
    own = fitter(Robot.load("g1_23dof", mount="free"))
    quick = own.on_simple_feet()
    assert contacts(quick.world(50)) * 2 < contacts(own.world(50))
    assert own.robot.simple_feet == () and quick.settings is own.settings


def test_a_robot_that_is_held_stays_as_it_is() -> None:
    """It stands on nothing."""
    held = fitter(Robot.load("so101"))
    assert held.on_simple_feet() is held
