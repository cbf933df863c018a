"""Payloads, gains, locks and names: every edit is a new Robot with exactly that effect."""

from __future__ import annotations

import subprocess
import sys

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError, NameMismatchError
from gapless.robots import Alias, Kinematics, Payload, Robot


def gravity_torque(robot: Robot, joint: str) -> float:
    """Torque (N·m) that gravity puts on a joint in the default pose."""
    model = robot.model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return float(data.qfrc_bias[model.joint(joint).dofadr[0]])


def test_payload_adds_its_weight_and_its_moment():
    """1 kg at a known lever adds m g lever to the elbow, and 1 kg to the robot."""
    robot = Robot.load("g1", mount="fixed")
    loaded = robot.with_payloads({"left_wrist_yaw_link": Payload(1.0, (0.1, 0.0, 0.0))})
    assert loaded.model().body_mass.sum() - robot.model().body_mass.sum() == pytest.approx(1.0)
    kinematics = Kinematics.of(robot)
    pos, _ = kinematics.link_poses(robot.joints.default)
    at = dict(zip(kinematics.links, pos[0], strict=True))
    lever = at["left_wrist_yaw_link"][0] + 0.1 - at["left_elbow_link"][0]
    change = gravity_torque(loaded, "left_elbow_joint") - gravity_torque(robot, "left_elbow_joint")
    assert change == pytest.approx(-9.81 * lever, rel=1e-5)
    assert loaded.links == robot.links


def test_payload_without_a_place_sits_at_the_links_centre_of_mass():
    """com None leaves the link's centre of mass and inertia where they were, and adds the mass."""
    robot = Robot.load("h1_2", mount="fixed")
    loaded = robot.with_payloads({"left_wrist_yaw_link": Payload(2.0)})
    before, after = (r.model().body("left_wrist_yaw_link") for r in (robot, loaded))
    np.testing.assert_allclose(after.ipos, before.ipos, atol=1e-12)
    np.testing.assert_allclose(after.inertia, before.inertia, rtol=1e-9)
    assert after.mass[0] == pytest.approx(before.mass[0] + 2.0)


def test_payload_changes_no_sizes():
    """Models that differ only in their loads fit one batch of simulations."""
    robot = Robot.load("g1")
    loaded = robot.with_payloads({"torso_link": Payload(5.0, (0.1, 0.0, 0.2))})
    assert loaded.model().nbody == robot.model().nbody


def test_payload_on_a_massless_link_is_carried():
    """A table may hold links without mass; a load on one of them still compiles."""
    robot = Robot.load("kbot_legs").with_payloads({"root": Payload(3.0)})
    assert robot.model().body_mass.sum() == pytest.approx(22.812727)


def test_payload_on_a_clamped_robot_is_kept():
    """Mount and payload combine."""
    robot = Robot.load("g1", mount="left_foot").with_payloads({"torso_link": Payload(6.0)})
    assert robot.model().body_mass.sum() == pytest.approx(33.341142 + 6)


def test_impossible_payloads_are_refused():
    """Negative mass and unknown links are errors, an empty load is none."""
    robot = Robot.load("g1")
    with pytest.raises(ModelError, match="-1"):
        robot.with_payloads({"torso_link": Payload(-1.0)})
    with pytest.raises(NameMismatchError, match="torso_link"):
        robot.with_payloads({"torso": Payload(1.0)})
    assert robot.with_payloads({"torso_link": Payload(0.0)}).payloads == {}


def test_locked_joints_leave_the_model_but_not_the_robot():
    """A lock removes columns, keeps the mass, and freezes the pose at the given angle."""
    robot = Robot.load("g1", mount="fixed")
    locked = robot.lock(["wrists", "waist_yaw_joint"], at={"waist_yaw_joint": 0.5})
    assert len(locked.joints) == 22
    assert locked.model().nq == 22
    assert locked.joint_groups["wrists"] == ()
    assert locked.model().body_mass.sum() == pytest.approx(33.341142)
    q = np.zeros(29)
    q[robot.joints.index("waist_yaw_joint")] = 0.5
    whole = Kinematics.of(robot).points(q, points=robot.tracking)
    frozen = Kinematics.of(locked).points(np.zeros(22), points=robot.tracking)
    # Both stand at the height of their own default pose; only the waist differs from it.
    np.testing.assert_allclose(whole, frozen, atol=1e-9)


def test_locking_an_unknown_joint_or_angle_is_refused():
    """Locks are by joint or group name, and angles only for what is locked."""
    robot = Robot.load("g1")
    with pytest.raises(NameMismatchError, match="wrists"):
        robot.lock(["wrist"])
    with pytest.raises(NameMismatchError, match="left_knee_joint"):
        robot.lock(["waist"], at={"left_knee_joint": 0.0})


def test_gains_and_fields_are_replaced_by_name():
    """Gains go to the joints named, fields to all or to those named."""
    robot = Robot.load("so101")
    changed = robot.with_gains({"elbow_flex": (30.0, 1.0)}).with_joints(
        damping=0.1, armature={"gripper": 0.01}
    )
    model = changed.model()
    assert model.actuator("elbow_flex").gainprm[0] == 30
    assert model.actuator("elbow_flex").biasprm[2] == -1
    assert model.dof_damping[0] == 0.1
    assert robot.joints.kp[2] == 17.8
    assert list(changed.joints.armature[-2:]) == [0.028, 0.01]
    with pytest.raises(NameMismatchError, match="frictionloss"):
        robot.with_joints(friction=1.0)
    with pytest.raises(ModelError, match=r"damping of joint .*-1"):
        robot.with_joints(damping=-1.0)


def test_joint_arrays_cannot_be_written_in_place():
    """A Robot is a value: its arrays are read-only copies."""
    kp = np.full(6, 5.0)
    robot = Robot.load("so101").with_joints(kp=kp)
    kp[:] = 0
    assert robot.joints.kp[0] == 5
    with pytest.raises(ValueError, match="read-only"):
        robot.joints.kp[0] = 1.0


def test_names_match_exactly_by_alias_and_loosely():
    """Exact names, aliases with signs, and names without case or suffix all find their joint."""
    assert Robot.load("so101").match(["Jaw", "Rotation"]) == [
        Alias("gripper"),
        Alias("shoulder_pan"),
    ]
    legs = Robot.load("kbot_legs")
    assert legs.match(["kscale_policy/right_knee"]) == [Alias("right_knee_04", -1.0)]
    found = Robot.load("h1_2").match(["left_elbow", "RIGHT_ELBOW_JOINT", "torso_joint"])
    assert [alias.joint for alias in found] == [
        "left_elbow_joint",
        "right_elbow_joint",
        "torso_joint",
    ]


def test_match_refuses_unknown_double_and_locked_names():
    """A wrong name gets the nearest right one; no joint is filled twice or behind a lock."""
    robot = Robot.load("g1_23dof")
    with pytest.raises(NameMismatchError, match=r"left_kne'.*Did you mean 'left_knee_joint'"):
        robot.match(["left_kne"])
    with pytest.raises(NameMismatchError, match="both mean joint 'left_knee_joint'"):
        robot.match(["left_knee", "left_knee_joint"])
    with pytest.raises(NameMismatchError, match="locked: left_wrist_roll_joint"):
        robot.match(["left_wrist_roll_joint"])


def test_fingerprint_changes_with_everything_physical_and_nothing_else():
    """Equal robots have equal prints; a gain, a load, a mount or a lock changes it."""
    robot = Robot.load("g1")
    variants = [
        robot,
        robot.with_mount("fixed"),
        robot.with_gains({"left_knee_joint": (1.0, 1.0)}),
        robot.with_payloads({"torso_link": Payload(1.0)}),
        robot.lock(["waist"]),
        Robot.load("g1", self_collision=True),
    ]
    prints = [variant.fingerprint() for variant in variants]
    assert len(set(prints)) == len(prints)
    assert Robot.load("g1").fingerprint() == prints[0]


def test_self_collision_is_a_choice():
    """Crossed legs pass through each other unless asked not to."""
    for wanted in (False, True):
        robot = Robot.load("g1", mount="fixed", self_collision=wanted)
        model = robot.model()
        data = mujoco.MjData(model)
        data.joint("left_hip_roll_joint").qpos[0] = -0.5
        data.joint("right_hip_roll_joint").qpos[0] = 0.5
        mujoco.mj_forward(model, data)
        assert bool(data.ncon) == wanted


def test_loading_a_robot_needs_no_mujoco():
    """Tables, names and fingerprints work before the simulator is imported."""
    code = (
        "import sys, gapless.robots as r; r.Robot.load('g1_23dof').fingerprint();"
        "sys.exit('mujoco' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
