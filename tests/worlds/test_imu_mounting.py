"""An IMU that sits askew: what it shows, and that a start read from it is the robot's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, rotation_vector
from gapless.worlds import Effects, MujocoWorld, State
from gapless.worlds.imu_mounting import behind, shown

ASKEW = Effects(imu_roll=0.03, imu_pitch=-0.02, gyro_x=0.01, gyro_y=-0.02, gyro_z=0.03)


@pytest.fixture(scope="module")
def g1() -> Robot:
    """On the floor."""
    return Robot.load("g1", mount="free")


def lowered(state: State) -> State:
    """A little deeper in the floor: feet that just touch it do or do not, by the last digit."""
    return replace(state, base_pos=state.base_pos - [0.0, 0.0, 1e-3])


def test_behind_is_the_inverse_of_shown(g1: Robot) -> None:
    """To the last digits, also where environments differ."""
    state = MujocoWorld(g1).home(3)
    rng = np.random.default_rng(0)
    state = replace(state, base_ang_vel_b=rng.normal(size=(3, 3)))
    for effects in (ASKEW, replace(ASKEW, imu_roll=np.array([0.0, 0.1, -0.1]))):
        seen = shown(state, effects)
        again = behind(seen, effects)
        assert not np.allclose(seen.base_ang_vel_b, state.base_ang_vel_b, atol=1e-3)
        np.testing.assert_allclose(again.base_quat_wxyz, state.base_quat_wxyz, atol=1e-12)
        np.testing.assert_allclose(again.base_ang_vel_b, state.base_ang_vel_b, atol=1e-12)


def test_physics_does_not_depend_on_the_imu(g1: Robot) -> None:
    """What is read differs by the mounting, what happens does not."""
    straight, askew = MujocoWorld(g1), MujocoWorld(g1, effects=ASKEW)
    targets = np.tile(straight.home().q, (2, 20, 1)) + 0.05
    plain = straight.rollout(lowered(straight.home(2)), targets)
    seen = askew.rollout(lowered(askew.home(2)), targets)
    np.testing.assert_allclose(seen.q, plain.q, atol=1e-6)
    np.testing.assert_allclose(seen.base_pos, plain.base_pos, atol=1e-6)
    turned = rotation_vector(mul(conj(plain.base_quat_wxyz), seen.base_quat_wxyz))
    np.testing.assert_allclose(turned[..., :2], [[[0.03, -0.02]]] * np.ones((2, 21, 1)), atol=1e-5)


def test_a_step_shows_what_a_rollout_shows(g1: Robot) -> None:
    """And the state itself is the robot's."""
    world = MujocoWorld(g1, effects=ASKEW)
    home = world.home(2)
    world.reset(home)
    stepped = world.step(home.q)
    rolled = world.rollout(home, home.q[:, None])
    np.testing.assert_allclose(stepped.base_quat_wxyz, rolled.base_quat_wxyz[:, 1], atol=1e-12)
    np.testing.assert_allclose(stepped.base_ang_vel_b, rolled.base_ang_vel_b[:, 1], atol=1e-12)
    turned = rotation_vector(mul(conj(world.state.base_quat_wxyz), stepped.base_quat_wxyz))
    np.testing.assert_allclose(turned[:, :2], [[0.03, -0.02]] * 2, atol=1e-5)


def test_none_leaves_hashes_as_they_were() -> None:
    """A straight IMU is no effect."""
    assert Effects().resolve(3).fingerprint() == ""
    assert ASKEW.resolve(3).fingerprint() != ""
