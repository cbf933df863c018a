"""A robot's own motion, written as a person's, comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.motions.retargeting import retarget
from gapless.robots import Robot
from people import keypoints_of, squatting, write_bvh, write_joints

NEAR = np.radians(3.0)


@pytest.fixture(scope="module")
def robot() -> Robot:
    """On its feet."""
    return Robot.load("g1_23dof")


def spread_arms(robot: Robot) -> np.ndarray:
    """The T pose in which most skeletons rest."""
    q = robot.joints.default.copy()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        q[robot.joints.index(f"{side}_shoulder_roll_joint")] = 1.5 * sign
        q[robot.joints.index(f"{side}_elbow_joint")] = 1.5
    return q


@pytest.mark.parametrize("rests", ["standing", "arms spread"])
def test_a_bvh_of_a_robot_gives_its_joints_back(robot: Robot, tmp_path: Path, rests: str) -> None:
    """Within 3 degrees each, though it comes in centimetres with y up."""
    motion = squatting(robot)
    rest = robot.joints.default if rests == "standing" else spread_arms(robot)
    found = retarget(write_bvh(tmp_path / "squat.bvh", motion, robot, rest), robot)
    away = np.abs(found.motion.q - motion.q)
    worst = robot.joints.names[int(away.max(axis=0).argmax())]
    assert away.max() < NEAR, (worst, np.degrees(away.max()))
    assert found.motion.base_pos is not None and motion.base_pos is not None
    assert np.abs(found.motion.base_pos - motion.base_pos).max() < 0.02
    assert found.error < 0.01 and found.after.ok
    assert any("centimetres" in note for note in found.notes)
    assert any("y is up" in note for note in found.notes)


def test_positions_alone_give_what_they_decide(robot: Robot, tmp_path: Path) -> None:
    """Joints that no keypoint sees are left out: the ankles, as there are no toes."""
    motion = squatting(robot)
    found = retarget(write_joints(tmp_path / "squat.npz", keypoints_of(motion, robot)), robot)
    away = np.abs(found.motion.q - motion.q)[2:]
    assert found.error < 0.01
    for name in ("left_knee_joint", "right_elbow_joint", "waist_yaw_joint"):
        assert away[:, robot.joints.index(name)].max() < 2 * NEAR, name
    places = keypoints_of(found.motion, robot)
    assert np.abs(places["left_ankle"] - places["left_ankle"][0]).max() < 0.01
