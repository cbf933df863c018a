"""How falls begin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless import MujocoWorld, Policy, Robot
from gapless.evaluation import Scenario
from gapless.evaluation.falls import describe_falls, find_falls
from gapless.evaluation.policy_episodes import Episodes, play


@pytest.fixture(scope="module")
def leaning(still: Policy, go2: Robot) -> Episodes:
    """One episode that stands for a second, then leans until it falls at two."""
    stood = play(still, MujocoWorld(go2), Scenario(episodes=1, seconds=3.0, start_noise=0.0))
    time = np.arange(stood.steps + 1) / stood.rate
    lean = np.clip(time - 1.0, 0.0, 1.0)
    quat = stood.states.base_quat_wxyz.copy()
    quat[0] = np.stack([np.cos(lean / 2), np.sin(lean / 2), 0 * lean, 0 * lean], axis=-1)
    states = replace(stood.states, base_quat_wxyz=quat)
    return replace(stood, states=states, torque=0 * stood.torque, fell=np.array([100]))


def test_the_first_motor_at_its_limit_is_named(leaning: Episodes) -> None:
    """Not the one that follows."""
    torque, effort = leaning.torque.copy(), leaning.robot.joints.effort
    torque[0, 55:95, 2] = effort[2]
    torque[0, 60:95, 7] = -effort[7]
    (fall,) = find_falls(replace(leaning, torque=torque))
    assert fall.cause == f"{leaning.robot.joints.names[2]} at its torque limit"
    assert fall.seconds == pytest.approx(2.0)
    assert not fall.pushed


def test_a_limit_long_before_is_not_blamed(leaning: Episodes) -> None:
    """Nor one that is touched for a step."""
    torque = leaning.torque.copy()
    torque[0, 2:8, 2] = leaning.robot.joints.effort[2]
    torque[0, 60:61, 3] = leaning.robot.joints.effort[3]
    (fall,) = find_falls(replace(leaning, torque=torque))
    assert fall.cause == "no limit reached"


def test_a_push_before_it_is_said(leaning: Episodes) -> None:
    """Within two seconds."""
    pushes = leaning.pushes.copy()
    pushes[0, 40] = [1.0, 0.0, 0.0]
    falls = find_falls(replace(leaning, pushes=pushes))
    assert falls[0].pushed
    assert describe_falls(falls).endswith("after a push")


def test_a_breakdown_of_the_simulation_is_no_fall_of_the_robot(leaning: Episodes) -> None:
    """It is called what it is."""
    falls = find_falls(replace(leaning, diverged=np.array([True])))
    assert falls[0].cause == "the simulation broke down"


def test_nothing_fell() -> None:
    """Also an answer."""
    assert describe_falls([]) == "nothing fell"
