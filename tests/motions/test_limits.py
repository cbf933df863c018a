"""Every way a motion can break a limit is found, with the right joint and time."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.motions.collisions import overlaps
from gapless.motions.limits import check_motion
from gapless.motions.motion import Motion, min_jerk
from gapless.motions.support import balance
from gapless.robots import Robot

ROBOTS = ["g1", "g1_23dof", "h1_2", "kbot_legs", "kbot", "go2", "so101"]


def bump(robot: Robot, rate: float = 50.0, **angles: float) -> Motion:
    """Four seconds: rest, a second there (from 1 s), a second back (from 2 s), rest."""
    time = np.arange(round(4 * rate)) / rate
    there = min_jerk(time - 1) * (1 - min_jerk(time - 2))
    home = [robot.joints.default[robot.joints.index(joint)] for joint in angles]
    way = np.array(list(angles.values())) - home
    return Motion("bump", tuple(angles), rate, home + there[:, None] * way)


def step(robot: Robot, joint: str, size: float) -> Motion:
    """A step of one joint at 1 s."""
    motion = bump(robot, **{joint: 0.0})
    home = robot.joints.default[robot.joints.index(joint)]
    after = np.arange(len(motion)) >= 50
    return Motion("step", (joint,), 50, home + size * after[:, None])


@pytest.mark.parametrize("name", ROBOTS)
def test_standing_still_is_clean(name: str) -> None:
    """No robot's default pose breaks a limit, even with a margin."""
    robot = Robot.load(name)
    still = Motion("still", robot.joints.names, 50, np.tile(robot.joints.default, (50, 1)))
    report = check_motion(still, robot, margin=0.05)
    assert report.ok, str(report)
    np.testing.assert_allclose(report.peaks["upper"], robot.joints.default)
    assert report.peaks["velocity"].max() < 0.1


def test_position_names_joint_time_and_limit(arms: Robot) -> None:
    """A command beyond the range is found where it is farthest out."""
    joint = "left_elbow_joint"
    upper = arms.joints.upper[arms.joints.index(joint)]
    motion = bump(arms, left_elbow_joint=upper + 0.1)
    (found,) = (v for v in check_motion(motion, arms).violations if v.kind == "position")
    assert (found.joint, found.time, found.limit) == (joint, 2.0, upper)
    assert str(found) == (
        f"left_elbow_joint: position {upper + 0.1:.4g} rad at 2.00 s, the limit is {upper:.4g} rad"
    )


def test_velocity_is_the_response(arms: Robot) -> None:
    """A fast move is found while the joint moves; its speed is the simulated one."""
    robot = arms.with_joints(velocity={"left_elbow_joint": 1.2})
    report = check_motion(bump(robot, left_elbow_joint=-0.9), robot)
    (found,) = report.violations
    assert (found.kind, found.joint, found.limit) == ("velocity", "left_elbow_joint", 1.2)
    assert 1.3 < found.time < 1.9 or 2.3 < found.time < 2.9
    assert found.value == pytest.approx(0.9 * 1.875, rel=0.15)
    assert found.value == report.peaks["velocity"][robot.joints.index("left_elbow_joint")]


def test_a_step_asks_for_torque_when_it_comes(arms: Robot) -> None:
    """The torque of a step is kp times its size, at its first moment, beyond the motor's limit."""
    column = arms.joints.index("left_elbow_joint")
    report = check_motion(step(arms, "left_elbow_joint", 1.95), arms)
    (found,) = (v for v in report.violations if v.kind == "torque")
    assert (found.joint, found.time) == ("left_elbow_joint", 1.0)
    assert found.value == pytest.approx(1.95 * arms.joints.kp[column], rel=0.15)
    assert found.limit == arms.joints.effort[column]


def test_torque_of_a_smooth_motion_is_that_of_inverse_dynamics(arms: Robot) -> None:
    """Stiff motors follow, so what they apply is what the motion takes."""
    robot = arms.with_joints(kp=400.0, kd=15.0, effort=np.inf)
    motion = bump(robot, 1000, left_shoulder_pitch_joint=-0.6, left_elbow_joint=-0.5)
    report = check_motion(motion, robot)
    targets, model = motion.targets(robot), robot.model()
    data = mujoco.MjData(model)
    columns = [model.joint(name).qposadr[0] for name in robot.joints.names]
    speed = np.gradient(targets, 1 / 1000, axis=0)
    needed = np.zeros_like(targets)
    for t, push in enumerate(np.gradient(speed, 1 / 1000, axis=0)):
        data.qpos[columns], data.qvel[columns], data.qacc[columns] = targets[t], speed[t], push
        mujoco.mj_inverse(model, data)
        needed[t] = data.qfrc_inverse[columns]
    np.testing.assert_allclose(
        report.peaks["torque"], np.abs(needed).max(axis=0), rtol=0.1, atol=0.1
    )


def test_forearms_through_the_torso_are_found() -> None:
    """Arms turned inwards meet the torso and each other, at the moment they are farthest in."""
    robot = Robot.load("g1", mount="fixed")
    motion = bump(robot, left_shoulder_yaw_joint=-1.2, right_shoulder_yaw_joint=1.2)
    found = {v.joint: v for v in check_motion(motion, robot).violations}
    assert {v.kind for v in found.values()} == {"collision"}
    assert "torso_link / left_elbow_link" in found
    assert "left_wrist_pitch_link / right_wrist_pitch_link" in found
    worst = found["torso_link / left_wrist_pitch_link"]
    assert worst.time == pytest.approx(2.0)
    assert 0.03 < worst.value < 0.15


def test_links_without_shapes_are_found_too() -> None:
    """The arms of the K-Bot table have no shapes: capsules between their joints stand in."""
    robot = Robot.load("kbot")
    found = check_motion(bump(robot, dof_left_shoulder_roll_03=-0.4), robot).violations
    assert "Torso_Side_Right / KC_C_202L" in [v.joint for v in found if v.kind == "collision"]


@pytest.mark.parametrize("name", ROBOTS)
def test_small_motions_of_all_joints_do_not_collide(name: str) -> None:
    """Neighbouring links are no collision, however the joints between them turn."""
    robot = Robot.load(name, mount="fixed")
    room = np.clip(robot.joints.upper - robot.joints.lower, 0, 1)
    turns = np.random.default_rng(0).uniform(-0.12, 0.12, (300, len(robot.joints)))
    assert overlaps(robot, robot.joints.default + room * turns) == {}


def test_leaning_forward_tips_a_free_robot_only() -> None:
    """Bent at the hips, the mass leaves the feet; a robot that hangs cannot tip."""
    robot = Robot.load("g1")
    motion = bump(robot, left_hip_pitch_joint=-0.8, right_hip_pitch_joint=-0.8)
    (found,) = check_motion(motion, robot).violations
    assert (found.kind, found.unit) == ("tipping", "m")
    assert found.joint == "left_ankle_roll_link / right_ankle_roll_link"
    assert 1.0 < found.time < 3.0
    assert "outside the feet" in str(found)
    assert check_motion(motion, robot.with_mount("fixed")).ok


def test_an_accelerated_base_moves_the_zero_moment_point() -> None:
    """Pushed forward evenly, the point moves back by height times push over gravity."""
    robot = Robot.load("g1")
    q, time = np.tile(robot.joints.default, (100, 1)), np.arange(100)[:, None] / 50
    quat = np.tile([1.0, 0, 0, 0], (100, 1))
    outside = []
    for push in (2.0, 3.0):
        base = np.array([0, 0, robot.standing_height]) + time**2 * [push / 2, 0, 0]
        standing = balance(robot, q, 50, base, quat)
        assert standing is not None
        assert standing.down.all()
        outside.append(standing.outside[10:-10])
    model = robot.with_mount("fixed").model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert outside[0].min() > 0
    np.testing.assert_allclose(outside[1] - outside[0], data.subtree_com[0][2] / 9.81, rtol=1e-3)


def test_a_fallen_base_tips() -> None:
    """A base pose that is given counts: tilted by half a radian, no robot stands."""
    robot = Robot.load("h1_2")
    q = np.tile(robot.joints.default, (50, 1))
    pos = np.tile([0, 0, robot.standing_height], (50, 1))
    quat = np.tile([np.cos(0.25), 0, np.sin(0.25), 0], (50, 1))
    found = check_motion(Motion("tilt", robot.joints.names, 50, q, pos, quat), robot).violations
    assert [v.kind for v in found] == ["tipping"]


def test_a_margin_leaves_room(arms: Robot) -> None:
    """What just fits does not fit with a margin."""
    upper = arms.joints.upper[arms.joints.index("left_elbow_joint")]
    motion = bump(arms, left_elbow_joint=upper - 0.01)
    kinds = [{v.kind for v in check_motion(motion, arms, margin=m).violations} for m in (0.0, 0.02)]
    assert "position" not in kinds[0]
    assert "position" in kinds[1]


def test_the_report_is_plain_json(arms: Robot) -> None:
    """Violations and peaks can be written to a file."""
    report = check_motion(step(arms, "left_elbow_joint", 1.95), arms)
    written = json.loads(json.dumps(report.to_dict()))
    assert not written["ok"]
    assert written["violations"][0]["joint"] == "left_elbow_joint"
    assert set(written["peaks"]["left_elbow_joint"]) == {"lower", "upper", "velocity", "torque"}


def test_bad_input_is_refused(arms: Robot) -> None:
    """Unknown joints, missing numbers and senseless margins are errors a user can act on."""
    with pytest.raises(NameMismatchError, match="left_elbow_joint"):
        check_motion(Motion("typo", ("left_elbo_joint",), 50, np.zeros((50, 1))), arms)
    with pytest.raises(DataError, match="not finite"):
        check_motion(Motion("gap", ("left_elbow_joint",), 50, np.full((50, 1), np.nan)), arms)
    with pytest.raises(DataError, match=r"margin is 1\.5"):
        check_motion(bump(arms, left_elbow_joint=0.1), arms, margin=1.5)
