"""The typical episode: the one in the middle, up to its fall, over the motion it followed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless import MujocoWorld, Policy, Robot, Scenario
from gapless.evaluation.policy_episodes import Episodes, play
from gapless.evaluation.tracking_errors import body_distances, tracking_errors
from gapless.evaluation.typical_episode import (
    POLICY,
    REFERENCE,
    median_episode,
    typical_episode,
)
from gapless.measurement.side_by_side import load_side_by_side, save_side_by_side
from gapless.motions.motion import Motion
from gapless.robots.rotations import about, mul, rotate

UP = np.array([0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def played(still: Policy, go2: Robot) -> Episodes:
    """Half a second of standing."""
    return play(still, MujocoWorld(go2), Scenario(episodes=3, seconds=0.5))


@pytest.fixture(scope="module")
def motion(played: Episodes) -> Motion:
    """What the second episode did, elsewhere and turned."""
    turn, states = about(UP, 1.3), played.states
    return Motion(
        name="as played",
        joints=played.robot.joints.names,
        rate=played.rate,
        q=states.q[1],
        base_pos=rotate(turn, states.base_pos[1]) + np.array([3.0, -2.0, 0.0]),  # type: ignore[index]
        base_quat_wxyz=mul(turn, states.base_quat_wxyz[1]),  # type: ignore[index]
    )


@pytest.mark.parametrize(
    ("errors", "row"),
    [([3.0, 1.0, 2.0], 2), ([4.0, 1.0, 2.0, 3.0], 2), ([None, 5.0, None], 1), ([None, None], 0)],
)
def test_the_median_is_an_episode(errors: list[float | None], row: int) -> None:
    """Of an even number the lower one; what fell at once says nothing."""
    assert median_episode(errors) == row


def test_it_lies_on_the_motion_that_it_followed(played: Episodes, motion: Motion) -> None:
    """Wherever the motion is, and whichever way it faces; the distance is that of the score."""
    clip = typical_episode(played, motion, [9.0, 1.0, 0.5])
    wanted, got = clip.tracks[REFERENCE], clip.tracks[POLICY]
    assert clip.name == "episode 2 of 3" and len(clip.target) == played.steps + 1
    assert got.q == pytest.approx(wanted.q, abs=1e-5)
    assert got.base_pos == pytest.approx(wanted.base_pos, abs=1e-5)
    assert np.abs((got.base_quat_wxyz * wanted.base_quat_wxyz).sum(axis=1)) == pytest.approx(1)  # type: ignore[operator]
    assert got.distance is not None and got.distance.max() < 0.1
    assert wanted.distance is None
    assert np.isnan(clip.target[-1]).all() and np.isfinite(clip.target[:-1]).all()


def test_distances_are_the_score_moment_by_moment(played: Episodes, motion: Motion) -> None:
    """Their mean is E_g-mpjpe."""
    means = body_distances(played, motion).mean(axis=1)
    assert means == pytest.approx(tracking_errors(played, motion)["e_g_mpjpe"])


def test_a_fall_ends_it_and_a_file_gives_it_back(
    played: Episodes, motion: Motion, tmp_path: Path
) -> None:
    """The fall is seen; a state in which the simulation broke down is not."""
    fell = replace(played, fell=np.array([10, 10, 10]))
    clip = typical_episode(fell, motion, [1.0] * 3)
    assert len(clip.target) == 11 and clip.name == "episode 2 of 3, fell after 0.2 s"
    broke = replace(fell, diverged=np.array([True] * 3))
    assert len(typical_episode(broke, motion, [1.0] * 3).target) == 10
    save_side_by_side(tmp_path / "e.npz", [clip])
    (read,) = load_side_by_side(tmp_path / "e.npz")
    assert read.tracks[POLICY].distance == pytest.approx(clip.tracks[POLICY].distance)
    assert read.tracks[REFERENCE].distance is None
