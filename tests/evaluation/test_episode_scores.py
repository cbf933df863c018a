"""The numbers of an episode, each against a case whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless import MujocoWorld, Policy
from gapless.evaluation import Scenario
from gapless.evaluation.episode_scores import SCORES, score_episodes
from gapless.evaluation.policy_episodes import Episodes, play

STILL = Scenario(episodes=2, seconds=4.0, commands=((0.5, 0.0, 0.0),), start_noise=0.0)


@pytest.fixture(scope="module")
def stood(still: Policy, go2) -> Episodes:
    """Two episodes that stood where they were asked to walk."""
    return play(still, MujocoWorld(go2), STILL)


def moving(episodes: Episodes, velocity: tuple[float, float], yaw: float) -> Episodes:
    """The same robot gliding at a velocity in the world, turned by an angle."""
    states = episodes.states
    speed = np.zeros_like(states.base_lin_vel_w)
    speed[..., :2] = velocity
    quat = np.zeros_like(states.base_quat_wxyz)
    quat[..., 0], quat[..., 3] = np.cos(yaw / 2), np.sin(yaw / 2)
    changed = replace(states, base_lin_vel_w=speed, base_quat_wxyz=quat)
    return replace(episodes, states=changed)


def test_every_score_is_finite_or_says_nothing(stood: Episodes) -> None:
    """One number an episode."""
    found = score_episodes(stood)
    assert set(found) == set(SCORES)
    assert all(values.shape == (2,) for values in found.values())


def test_standing_misses_a_commanded_velocity_by_all_of_it(stood: Episodes) -> None:
    """0.5 m/s were asked for."""
    assert score_episodes(stood)["velocity_error"] == pytest.approx(0.5, abs=0.02)


def test_velocities_are_in_the_heading_of_the_robot(stood: Episodes) -> None:
    """A robot that faces +y and moves along +y moves forwards."""
    found = score_episodes(moving(stood, (0.0, 0.5), np.pi / 2))
    assert found["vx"] == pytest.approx(0.5, abs=1e-3)
    assert found["vy"] == pytest.approx(0.0, abs=1e-3)
    assert found["velocity_error"] == pytest.approx(0.0, abs=1e-3)


def test_torque_is_a_share_of_each_motors_limit(stood: Episodes) -> None:
    """One motor at its limit in one of four steps."""
    torque = np.zeros_like(stood.torque)
    torque[:, ::4, 3] = stood.robot.joints.effort[3]
    found = score_episodes(replace(stood, torque=torque))
    assert found["torque_peak"] == pytest.approx(1.0)
    assert found["torque_limited"] == pytest.approx(0.25, abs=0.01)


def test_what_happens_after_a_fall_is_not_scored(stood: Episodes) -> None:
    """A torque peak after it does not count."""
    torque = np.zeros_like(stood.torque)
    torque[0, 100:] = 1e3
    fell = np.array([100, stood.steps + 1])
    found = score_episodes(replace(stood, torque=torque, fell=fell))
    assert found["torque_peak"].tolist() == [0.0, 0.0]


def test_a_standing_robot_hardly_slips(stood: Episodes) -> None:
    """And one that glides with its feet down slips at its own speed."""
    still = score_episodes(stood)["foot_slip"]
    base = stood.states.base_pos.copy()
    base[..., 0] += 0.3 * np.arange(base.shape[1]) / stood.rate
    gliding = replace(stood, states=replace(stood.states, base_pos=base))
    assert (still < 0.02).all()
    assert score_episodes(gliding)["foot_slip"] == pytest.approx(0.3, abs=0.03)
