"""A motion out of limits is made to fit, and no smaller or slower than need be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.motions.fit import fit_motion
from gapless.motions.limits import check_motion
from gapless.motions.motion import Motion, min_jerk
from gapless.robots import Robot


def bump(robot: Robot, **angles: float) -> Motion:
    """Rest, there from 0.5 s, back from 1 s, rest; half a second each."""
    time = np.arange(100) / 50
    there = min_jerk(2 * time - 1) * (1 - min_jerk(2 * time - 2))
    home = [robot.joints.default[robot.joints.index(joint)] for joint in angles]
    way = np.array(list(angles.values())) - home
    return Motion("bump", tuple(angles), 50, home + there[:, None] * way)


def test_a_clean_motion_is_left_alone(arms: Robot) -> None:
    """Nothing is changed without need."""
    motion = bump(arms, left_elbow_joint=0.3)
    fitted, report = fit_motion(motion, arms)
    assert fitted is motion
    assert report.ok


def test_only_the_joint_beyond_its_range_shrinks(arms: Robot) -> None:
    """A position limit costs one joint its amplitude, and no more than that."""
    motion = bump(arms, left_wrist_roll_joint=3.0, right_wrist_roll_joint=1.0)
    fitted, report = fit_motion(motion, arms, margin=0.0)
    assert report.ok, str(report)
    column = arms.joints.index("left_wrist_roll_joint")
    assert fitted.q[:, column].max() == pytest.approx(arms.joints.upper[column])
    assert fitted.q[:, arms.joints.index("right_wrist_roll_joint")].max() == pytest.approx(1.0)
    assert fitted.source.startswith("fitted: amplitude x0.66 to x1, time x1")
    assert (fitted.name, fitted.rate) == ("bump", 50)


def test_a_fast_motion_is_slowed(arms: Robot) -> None:
    """A speed limit costs time, not amplitude, and only as much time as it takes."""
    robot = arms.with_joints(velocity={"left_elbow_joint": 2.0})
    motion = bump(robot, left_elbow_joint=1.0)
    fitted, report = fit_motion(motion, robot)
    assert report.ok, str(report)
    assert fitted.q.max() == pytest.approx(1.0, abs=0.01)
    assert 1.4 < fitted.seconds / motion.seconds < 2.5
    peak = report.peaks["velocity"][robot.joints.index("left_elbow_joint")]
    assert 1.8 < peak <= 2.0 * 0.98


def test_a_step_that_saturates_is_made_smaller(arms: Robot) -> None:
    """No stretching makes a step gentle; the joint that asks too much shrinks, others do not."""
    robot = arms.with_joints(effort={"left_elbow_joint": 4.0})
    joints = "left_elbow_joint", "right_elbow_joint"
    after = np.arange(100)[:, None] >= 50
    fitted, report = fit_motion(Motion("step", joints, 50, 0.8 * after * np.ones(2)), robot)
    assert report.ok, str(report)
    left, right = (fitted.q[-1, robot.joints.index(joint)] for joint in joints)
    assert 0.2 < left < 0.5
    assert right == pytest.approx(0.8)


def test_collisions_shrink_the_whole(arms: Robot) -> None:
    """Arms that would meet are brought back until they just do not."""
    motion = bump(arms, left_shoulder_yaw_joint=-1.2, right_shoulder_yaw_joint=1.2)
    fitted, report = fit_motion(motion, arms)
    assert report.ok, str(report)
    assert 0.2 < np.abs(fitted.q).max() < 0.9
    larger = Motion("more", fitted.joints, 50, fitted.q * 1.05)
    assert not check_motion(larger, arms).ok


def test_a_lean_is_brought_back_over_the_feet() -> None:
    """Tipping shrinks the motion, and the base that came with it."""
    robot = Robot.load("g1")
    motion = bump(robot, left_hip_pitch_joint=-0.9, right_hip_pitch_joint=-0.9)
    fitted, report = fit_motion(motion, robot)
    assert report.ok, str(report)
    assert -0.9 < fitted.q[:, robot.joints.index("left_hip_pitch_joint")].min() < -0.15

    pitch = 0.5 * min_jerk(np.arange(100) / 99)
    pos = np.tile([0, 0, robot.standing_height], (100, 1))
    quat = np.stack([np.cos(pitch / 2), 0 * pitch, np.sin(pitch / 2), 0 * pitch], axis=1)
    still = np.tile(robot.joints.default, (100, 1))
    fitted, report = fit_motion(Motion("tilt", robot.joints.names, 50, still, pos, quat), robot)
    assert report.ok, str(report)
    assert fitted.base_quat_wxyz is not None
    assert 0.02 < 2 * np.arcsin(fitted.base_quat_wxyz[-1, 2]) < 0.5


def test_what_cannot_be_fitted_says_what_remains(arms: Robot) -> None:
    """A motor that cannot hold the default pose fits no motion."""
    weak = arms.with_joints(effort={"left_elbow_joint": 1.0})
    with pytest.raises(DataError, match=r"x0, in the default pose, left_elbow_joint: torque"):
        fit_motion(bump(weak, left_elbow_joint=-0.3), weak)


def test_a_motion_that_fits_only_at_rest_is_refused() -> None:
    """A base in millimetres tips the robot however small the motion; nothing still is returned."""
    robot = Robot.load("g1")
    motion = bump(robot, left_elbow_joint=0.6)
    time = np.arange(len(motion))[:, None] / motion.rate
    pos = 1000 * (np.array([0, 0, robot.standing_height]) + 0.3 * np.sin(6 * time) * [1, 0, 0])
    with pytest.raises(
        DataError, match=r"cannot be fitted to g1: even at amplitude x0\.0.* tipping"
    ):
        fit_motion(replace(motion, base_pos=pos), robot)
