"""Dry friction holds a loaded joint, and takes its due from a moving one, whatever its law."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest

from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld, State
from gapless.worlds.dry_friction import DryFriction
from gapless.worlds.engine_world import EngineWorld

ARM, MASS, ARMATURE, DAMPING = 0.265, 0.5, 0.02, 0.05
GRAVITY = 9.81 * MASS * ARM
INERTIA = MASS * ARM**2 + ARMATURE
PENDULUM = f"""
<mujoco model="pendulum"><worldbody>
  <body name="arm"><joint name="swing" axis="0 1 0"/>
    <inertial pos="{ARM} 0 0" mass="{MASS}" diaginertia="1e-9 1e-9 1e-9"/></body>
</worldbody><actuator><position name="swing" joint="swing" kp="1" kv="0"/></actuator></mujoco>
"""

LAWS = {
    "frictionloss": ({"frictionloss": 0.5}, {}),
    "stribeck": ({"frictionloss": 0.1}, {"stribeck_torque": 0.4}),
    "load": ({}, {"load_friction": 0.5}),
    "backdrive": ({}, {"load_friction": 0.2, "backdrive_friction": 0.3}),
    "quadratic": ({}, {"quadratic_friction": 0.5}),
}
"""Each holds 0.5 N·m against the load while the motor pulls with 1 N·m the other way."""

NEAR = {"mujoco": 0.008, "physx": 0.002}
"""rad. MuJoCo's constraint is soft: it stops a joint within 10 ms rather than at once, under
`frictionloss` as under every other law."""

ENGINES = [
    "mujoco",
    pytest.param(
        "physx",
        marks=pytest.mark.skipif(find_spec("sapien") is None, reason="needs gapless[physx]"),
    ),
]


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    """A light arm, level at zero: gravity turns it towards positive angles."""
    path = tmp_path_factory.mktemp("pendulum") / "pendulum.xml"
    path.write_text(PENDULUM)
    return Robot.from_mjcf(path).with_joints(armature=ARMATURE)


def world(
    robot: Robot, engine: str, law: str, physics_step: float = 0.002, **joints: float
) -> EngineWorld:
    """The pendulum with one law of friction."""
    figures, effects = LAWS[law]
    from gapless.worlds.physx import PhysxWorld

    kind = MujocoWorld if engine == "mujoco" else PhysxWorld
    rough = robot.with_joints(**figures, **joints)
    return kind(rough, 50.0, effects=Effects(**effects), physics_step=physics_step)


def moved(world: EngineWorld, motor: float, seconds: float = 5.0) -> float:
    """How far the joint goes from rest at zero under this torque of its motor (kp is 1), rad."""
    played = world.rollout(world.home(), np.full((1, round(50 * seconds), 1), motor))
    return float(np.abs(played.q).max())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("law", LAWS)
def test_a_loaded_joint_does_not_creep(pendulum: Robot, engine: str, law: str) -> None:
    """0.3 N·m too little of the motor against 0.5 N·m of friction: it stands for five seconds."""
    assert moved(world(pendulum, engine, law), -(GRAVITY - 0.3)) < 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("law", LAWS)
def test_more_than_friction_slips(pendulum: Robot, engine: str, law: str) -> None:
    """0.6 N·m too little is more than any of the laws holds."""
    assert moved(world(pendulum, engine, law), -(GRAVITY - 0.6), 1.0) > 0.05


@pytest.mark.parametrize("engine", ENGINES)
def test_the_load_is_held_more_firmly_than_the_motor(pendulum: Robot, engine: str) -> None:
    """0.4 N·m too little of the motor are held, 0.4 N·m too much of it are not."""
    arm = world(pendulum, engine, "backdrive")
    assert moved(arm, -(GRAVITY - 0.4)) < 1e-3
    assert moved(arm, -(GRAVITY + 0.4), 1.0) > 0.02


def slowly(law: str, targets: np.ndarray, kp: float, kd: float, step: float = 2e-5) -> np.ndarray:
    """The pendulum by its equation of motion, in steps so small that the method does not matter."""
    figures, effects = LAWS[law]
    loss, of = figures.get("frictionloss", 0.0), Effects(**effects)
    driven = of.load_friction + of.backdrive_friction
    q = dq = 0.0
    found = [q]
    for target in targets:
        for _ in range(round(0.02 / step)):
            motor = kp * (target - q) - kd * dq
            along = motor * dq >= 0
            load = (of.load_friction if along else driven) * abs(motor)
            bound = loss + of.stribeck_torque * math.exp(-((dq / of.stribeck_speed) ** 2))
            bound += load + of.quadratic_friction * motor**2
            free = dq + step * (motor + GRAVITY * math.cos(q) - DAMPING * dq) / INERTIA
            taken = step * bound / INERTIA
            dq = math.copysign(max(abs(free) - taken, 0.0), free)
            q += step * dq
        found.append(q)
    return np.array(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("law", LAWS)
def test_a_moving_joint_follows_its_equation_of_motion(
    pendulum: Robot, engine: str, law: str
) -> None:
    """Driven and driven back by gravity, through stops and reversals, as the law says."""
    kp, kd = 8.0, 0.4
    targets = 0.8 * np.sin(2 * np.pi * 0.7 * np.arange(100) / 50) - 0.1
    arm = world(pendulum, engine, law, 5e-4, kp=kp, kd=kd, damping=DAMPING)
    played = arm.rollout(arm.home(), targets[None, :, None]).q[0, :, 0]
    smooth = MujocoWorld(pendulum.with_joints(kp=kp, kd=kd, damping=DAMPING), 50.0)
    without = smooth.rollout(smooth.home(), targets[None, :, None]).q[0, :, 0]
    expected = slowly(law, targets, kp, kd)
    assert np.abs(played - expected).max() < NEAR[engine]
    assert np.abs(without - expected).max() > 3 * NEAR["mujoco"]


def test_each_environment_has_its_own_bound(pendulum: Robot) -> None:
    """Friction that differs between environments acts as it does alone, to the byte."""
    arm = world(pendulum, "mujoco", "load", kp=8.0, kd=0.4)
    rng = np.random.default_rng(0)
    targets = np.cumsum(rng.normal(0, 0.05, (150, 20, 1)), axis=1)  # more than one block of them
    start = State(rng.uniform(-1, 1, (150, 1)), np.zeros((150, 1)))
    together = arm.rollout(start, targets)
    for i in (0, 63, 64, 149):
        alone = arm.rollout(start[i : i + 1], targets[i : i + 1])
        np.testing.assert_array_equal(alone.q[0], together.q[i])
        np.testing.assert_array_equal(alone.torque[0], together.torque[i])


def test_logged_torque_is_the_motors(pendulum: Robot) -> None:
    """What friction takes, and what it leans to, is no part of the log."""
    arm = world(pendulum, "mujoco", "backdrive", kp=8.0, kd=0.4)
    targets = 0.5 * np.sin(np.arange(40) / 5)[None, :, None]
    played = arm.rollout(arm.home(), targets)
    law = 8.0 * (targets - played.q[:, 1:]) - 0.4 * played.dq[:, 1:]
    np.testing.assert_allclose(played.torque[:, 1:], law, atol=1e-12)


def test_the_nominal_model_keeps_its_friction(pendulum: Robot) -> None:
    """The bound of the moment is written into copies, never into what others share."""
    arm = world(pendulum.with_joints(frictionloss=0.1), "mujoco", "load")
    moved(arm, -2.0, 0.5)
    assert arm.model.dof_frictionloss.tolist() == [0.1]


def test_a_negative_difference_never_makes_friction_drive() -> None:
    """Less friction of a driven motor than none at all is none."""
    dry = DryFriction(Effects(load_friction=0.1, backdrive_friction=-0.3).resolve(1), 0.0)
    motor, speed = np.array([[2.0]]), np.array([[1.0]])
    assert dry.bound(motor, speed) - dry.lean(motor) == pytest.approx(0.2)
    assert dry.bound(motor, speed) + dry.lean(motor) == pytest.approx(0.0)
