"""ASAP's columns of a tracker, against motions whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless import MujocoWorld, Policy, Robot, Scenario
from gapless.errors import DataError
from gapless.evaluation.policy_episodes import Episodes, play
from gapless.evaluation.tracking_errors import tracking_errors
from gapless.motions.motion import Motion
from gapless.robots.rotations import about, mul, rotate


@pytest.fixture(scope="module")
def played(still: Policy, go2: Robot) -> Episodes:
    """One second of standing; the quadruped's feet are what is tracked."""
    robot = replace(go2, tracking=go2.end_effectors or _feet(go2))
    found = play(still, MujocoWorld(go2), Scenario(episodes=2, seconds=1.0))
    return replace(found, robot=robot)


def _feet(robot: Robot) -> tuple:
    from gapless.robots import TrackingPoint

    return tuple(TrackingPoint(link, link) for link in robot.links[-4:])


def as_motion(episodes: Episodes, row: int, yaw: float = 0.0, away=(0.0, 0.0, 0.0)) -> Motion:
    """What an episode did, elsewhere and turned, as a motion."""
    turn = about(np.array([0.0, 0.0, 1.0]), yaw)
    states = episodes.states
    return Motion(
        name="as played",
        joints=episodes.robot.joints.names,
        rate=episodes.rate,
        q=states.q[row],
        base_pos=rotate(turn, states.base_pos[row]) + np.array(away),
        base_quat_wxyz=mul(turn, states.base_quat_wxyz[row]),
    )


def test_a_motion_that_was_followed_has_no_error(played: Episodes) -> None:
    """Wherever it was recorded, and whichever way it faced."""
    found = tracking_errors(played, as_motion(played, 0, yaw=1.3, away=(3.0, -2.0, 0.0)))
    assert found["e_g_mpjpe"][0] < 0.1
    assert found["e_mpjpe"][0] < 0.1
    assert found["success"][0] == 1


def test_a_height_that_is_off_is_a_global_error_alone(played: Episodes) -> None:
    """0.1 m higher: 100 mm in the world, none relative to the root."""
    found = tracking_errors(played, as_motion(played, 0, away=(0.0, 0.0, 0.1)))
    assert found["e_g_mpjpe"][0] == pytest.approx(100, abs=0.5)
    assert found["e_mpjpe"][0] < 0.1


def test_a_body_half_a_metre_away_is_no_success(played: Episodes) -> None:
    """ASAP's rule."""
    found = tracking_errors(played, as_motion(played, 0, away=(0.0, 0.0, 0.6)))
    assert found["success"][0] == 0


def test_a_motion_without_a_base_is_refused(played: Episodes) -> None:
    """Body errors need to know where it was."""
    bare = replace(as_motion(played, 0), base_pos=None, base_quat_wxyz=None)
    with pytest.raises(DataError, match="nothing of its base"):
        tracking_errors(played, bare)
