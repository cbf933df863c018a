"""Cleaning by physics: kept, repaired, or rejected with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.motions import Motion
from gapless.motions.retargeting import clean_motion
from gapless.robots import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    """On its feet."""
    return Robot.load("g1")


def standing(robot: Robot, seconds: float = 0.8) -> Motion:
    """The default pose."""
    count = round(50 * seconds) + 1
    q = np.tile(robot.joints.default, (count, 1))
    pos = np.tile([0.0, 0.0, robot.standing_height], (count, 1))
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    return Motion("stands", robot.joints.names, 50.0, q, pos, quat)


def test_standing_is_kept(robot: Robot) -> None:
    """As it is."""
    motion = standing(robot)
    found = clean_motion(motion, robot)
    assert found.verdict == "kept" and found.motion is motion
    assert found.distance is not None and found.distance < 0.06


def test_what_cannot_be_asked_for_is_rejected_untried(robot: Robot) -> None:
    """With the check that it fails."""
    motion = standing(robot)
    assert motion.base_pos is not None
    found = clean_motion(replace(motion, base_pos=motion.base_pos - [0, 0, 0.2]), robot)
    assert found.verdict == "rejected" and "feet below the floor" in found.reason
    assert found.distance is None and "rejected" in str(found)


def test_what_no_robot_can_do_is_repaired_or_rejected(robot: Robot) -> None:
    """A base that glides away over the floor is not followed by feet that stand."""
    motion = standing(robot)
    assert motion.base_pos is not None
    glide = motion.base_pos + np.linspace(0, 1, len(motion))[:, None] * np.array([0.6, 0.0, 0.0])
    found = clean_motion(replace(motion, base_pos=glide), robot)
    assert found.verdict in ("repaired", "rejected") and "simulated robot" in found.reason
    assert found.to_dict()["verdict"] == found.verdict
    if found.verdict == "repaired":
        assert found.motion.base_pos is not None and found.motion.base_pos[-1, 0] < 0.55
