"""HALO's columns of a tracker, against motions whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless import MujocoWorld, Policy, Robot, Scenario
from gapless.evaluation.drift_errors import drift_errors
from gapless.evaluation.policy_episodes import Episodes, play
from gapless.motions.motion import Motion
from gapless.robots.rotations import about, mul, rotate

UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def played(still: Policy, go2: Robot) -> Episodes:
    """One second of standing."""
    return play(still, MujocoWorld(go2), Scenario(episodes=2, seconds=1.0))


def strayed(episodes: Episodes, by: tuple[float, float, float], yaw: float = 0.0) -> Motion:
    """What the first episode did, moving off evenly by so much, and turning."""
    states, steps = episodes.states, episodes.steps + 1
    assert states.base_pos is not None and states.base_quat_wxyz is not None
    share = np.linspace(0, 1, steps)[:, None]
    turns = np.stack([about(UP, yaw * s) for s in share[:, 0]])
    ahead = rotate(states.base_quat_wxyz[0, :1], share * np.array(by))
    return Motion(
        name="strayed",
        joints=episodes.robot.joints.names,
        rate=episodes.rate,
        q=states.q[0],
        base_pos=states.base_pos[0] + ahead,
        base_quat_wxyz=mul(turns, states.base_quat_wxyz[0]),
    )


def test_what_was_followed_has_no_error(played: Episodes) -> None:
    """None of the three."""
    found = drift_errors(played, strayed(played, (0.0, 0.0, 0.0)))
    assert all(found[name][0] < 1e-6 for name in ("e_fpos", "e_epos", "e_ang"))


def test_forward_sideways_and_turned(played: Episodes) -> None:
    """0.3 m forward of 0.5 m in all, and 20 degrees."""
    found = drift_errors(played, strayed(played, (0.3, 0.4, 0.0), np.radians(20)))
    assert found["e_fpos"][0] == pytest.approx(0.3, abs=0.01)
    assert found["e_epos"][0] == pytest.approx(0.5, abs=0.01)
    assert found["e_ang"][0] == pytest.approx(20, abs=0.1)


def test_a_fall_ends_the_count(played: Episodes) -> None:
    """Half way through: half the error."""
    fell = np.array([played.steps // 2 + 1, played.steps + 1])
    found = drift_errors(replace(played, fell=fell), strayed(played, (0.3, 0.4, 0.0), 0.4))
    assert found["e_epos"][0] == pytest.approx(0.25, abs=0.01)
    assert found["e_ang"][0] == pytest.approx(np.degrees(0.2), abs=0.1)
