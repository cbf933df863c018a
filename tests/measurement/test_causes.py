"""The causes that are tried: what each does to a robot."""

from __future__ import annotations

import numpy as np

from gapless.measurement.attribution import attribute
from gapless.measurement.causes import ACTUATOR_CAUSES, causes_of
from gapless.measurement.floor_causes import SLIPPERY_FLOOR, SOFT_FLOOR
from gapless.measurement.trials import Alteration
from gapless.motions.excitation import multisine
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record


def test_a_gain_error_never_makes_a_gain_negative(arms: Robot) -> None:
    """A probe beyond the largest loss leaves a little of the gain."""
    gain = next(cause for cause in ACTUATOR_CAUSES if cause.name == "gain error")
    world = MujocoWorld(arms)
    nominal = Alteration(arms, world.effects, (), world.home())
    weak = gain.apply(nominal, gain.highest(arms) + 0.15)
    assert (weak.robot.joints.kp > 0).all()
    assert (weak.robot.joints.kp < 0.1 * arms.joints.kp).all()


def test_every_bound_is_physical() -> None:
    """Friction at most half of the effort, a gain between a tenth and twice its own."""
    robot = Robot.load("so101")
    bounds = {c.name: (c.lowest(robot), c.highest(robot)) for c in causes_of(MujocoWorld(robot))}
    assert np.allclose(bounds["dry friction"][1], 0.5 * robot.joints.effort)
    assert np.allclose(bounds["viscous friction"][1], 0.5 * robot.joints.effort)
    assert np.allclose(bounds["gain error"][0], -1.0) and np.allclose(bounds["gain error"][1], 0.9)


def test_a_jammed_joint_is_not_called_a_friction_beyond_its_motor() -> None:
    """Friction above the motor's effort holds it: the amplitude stops at the bound, and says so."""
    robot = Robot.load("so101")
    effort = robot.joints.effort
    world = MujocoWorld(robot.with_joints(frictionloss=2 * effort), 50, physics_step=0.005)
    targets = multisine(robot, 4.0, 50, seed=1)
    clip = record(world, targets, "jammed", start=world.home())
    found = attribute([clip], MujocoWorld(robot, 50, physics_step=0.005), max_windows=8)
    dry = found.amplitude[:, found.causes.index("dry friction")]
    assert (dry <= 0.5 * effort + 1e-9).all()


def test_every_floor_that_is_tried_can_exist() -> None:
    """Probes beyond a bound stop at it, and both bounds are of the figure itself."""
    robot = Robot.load("go2", mount="free")
    world = MujocoWorld(robot)
    nominal = Alteration(robot, world.effects, (), world.home())
    for cause, name, ends in (
        (SLIPPERY_FLOOR, "friction", (0.02, 3.0)),
        (SOFT_FLOOR, "softness", (0.004, 0.5)),
    ):
        for amount in (cause.lowest(robot), cause.highest(robot)):
            for beyond in (amount, 3 * amount):
                figure = getattr(cause.apply(nominal, beyond).robot.floor, name)
                assert np.isclose(figure, ends).any()
