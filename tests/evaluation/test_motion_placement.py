"""A motion laid where episodes start, and episodes taken back to where the motion does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.evaluation.motion_placement import UP, MotionPlacement
from gapless.motions.motion import Motion
from gapless.robots.rotations import about, mul, rotate

YAW = about(UP, 0.7)


@pytest.fixture
def motion() -> Motion:
    """It walks along x, away from the origin, a little turned."""
    pos = np.array([2.0, -1.0, 0.8]) + np.linspace(0, 1, 5)[:, None] * [1.0, 0.0, 0.0]
    return Motion("walk", ("a",), 50.0, np.zeros((5, 1)), pos, np.tile(about(UP, 0.3), (5, 1)))


def followed(motion: Motion, start: tuple[float, float, float]) -> SimpleNamespace:
    """Two episodes that do just what the motion does, elsewhere and turned."""
    assert motion.base_pos is not None and motion.base_quat_wxyz is not None
    pos = rotate(YAW, motion.base_pos - motion.base_pos[0]) + np.array(start)
    quat = mul(YAW, motion.base_quat_wxyz)
    return SimpleNamespace(
        states=SimpleNamespace(base_pos=np.stack([pos] * 2), base_quat_wxyz=np.stack([quat] * 2))
    )


def test_a_motion_lies_where_the_episodes_are_and_they_where_it_is(motion: Motion) -> None:
    """There and back; heights stay those of the world."""
    episodes = followed(motion, (5.0, 6.0, 0.8))
    placement = MotionPlacement.of(motion, episodes)  # type: ignore[arg-type]
    assert motion.base_pos is not None and motion.base_quat_wxyz is not None
    assert placement.moved(motion.base_pos) == pytest.approx(episodes.states.base_pos)
    pos, quat = episodes.states.base_pos[1], episodes.states.base_quat_wxyz[1]
    back = placement.returned(1, pos, quat)
    assert back[0] == pytest.approx(motion.base_pos)
    assert back[1] == pytest.approx(motion.base_quat_wxyz)


def test_a_start_that_is_too_high_stays_too_high(motion: Motion) -> None:
    """That is an error of the policy, not of the place."""
    episodes = followed(motion, (5.0, 6.0, 0.9))
    placement = MotionPlacement.of(motion, episodes)  # type: ignore[arg-type]
    pos, quat = episodes.states.base_pos[0], episodes.states.base_quat_wxyz[0]
    assert motion.base_pos is not None
    higher = placement.returned(0, pos, quat)[0] - motion.base_pos
    assert higher == pytest.approx(np.tile([0.0, 0.0, 0.1], (5, 1)))


def test_a_motion_without_a_base_lies_nowhere(motion: Motion) -> None:
    """And is refused."""
    bare = Motion("bare", motion.joints, motion.rate, motion.q)
    with pytest.raises(DataError, match="nothing of its base"):
        MotionPlacement.of(bare, followed(motion, (0.0, 0.0, 0.8)))  # type: ignore[arg-type]
