"""Policies of other people, as they publish them, and one written down by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import small_networks as nets
from asap_contract import TRACKERS, asap_contract
from gapless.policies import Policy, PolicyController
from gapless.robots import Robot
from gapless.worlds.world import State


@pytest.fixture(scope="module")
def shared_policies(shared_data: Path) -> Path:
    """The folder of public policies, which are not part of the project."""
    folder = shared_data / "policies"
    if not folder.is_dir():
        pytest.skip("the public policies (../shared/data/policies) are not on this machine")
    return folder


def standing(robot: Robot, count: int, seed: int = 0, spread: float = 0.05) -> State:
    """A robot near its default pose, nearly upright."""
    rng, joints = np.random.default_rng(seed), len(robot.joints)
    tilt = Rotation.from_euler("xyz", rng.normal(0, spread, (count, 3)))
    return State(
        q=robot.joints.default + rng.normal(0, spread, (count, joints)),
        dq=rng.normal(0, spread, (count, joints)),
        base_pos=np.tile([0.0, 0.0, 0.8], (count, 1)),
        base_quat_wxyz=tilt.as_quat(scalar_first=True),
        base_lin_vel_w=rng.normal(0, spread, (count, 3)),
        base_ang_vel_b=rng.normal(0, spread, (count, 3)),
    )


def acted(policy: Policy, robot: Robot, count: int, steps: int = 3) -> PolicyController:
    """The policy after some steps near the default pose, in many environments and in the first."""
    many = policy.start(robot.joints.names, robot.joints.default, count)
    one = policy.start(robot.joints.names, robot.joints.default)
    for step in range(steps):
        now, asked = standing(robot, count, step), {"velocity": np.full((count, 3), 0.1)}
        together = many.act(now, asked)
        alone = one.act(now[[0]], {"velocity": asked["velocity"][:1]})
        np.testing.assert_allclose(together[:1], alone, atol=1e-4)
    return many


WALKERS = {"unitree_rl_lab_g1_velocity": 480, "unitree_rl_mjlab_g1_velocity": 96}


@pytest.mark.parametrize("name", WALKERS)
def test_unitree_walkers_load_and_act(name: str, shared_policies: Path) -> None:
    """From their folder: 29 joints at 50 Hz, sane targets near the stance."""
    policy, robot = Policy.load(shared_policies / name), Robot.load("g1")
    contract = policy.contract
    assert (contract.name, contract.robot, contract.rate) == (name, "g1", pytest.approx(50.0))
    assert contract.width == policy.network.width == WALKERS[name]
    assert set(contract.joints) == set(robot.joints.names)
    controller = acted(policy, robot, count=4)
    wanted = controller.targets - dict_row(contract.default, robot)
    assert 1e-3 < np.abs(wanted).max() < 2.0


def dict_row(angles, robot: Robot) -> np.ndarray:
    """(J,) in the robot's order."""
    return np.array([angles[j] for j in robot.joints.names])


def test_unitree_rl_lab_has_a_joint_order_of_its_own(shared_policies: Path) -> None:
    """Left, right, waist, ...: gains by motor, pose by policy joint; its tag is only noted."""
    contract = Policy.load(shared_policies / "unitree_rl_lab_g1_velocity").contract
    assert contract.joints[:3] == (
        "left_hip_pitch_joint",
        "right_hip_pitch_joint",
        "waist_yaw_joint",
    )
    assert contract.gains["waist_yaw_joint"] == (200.0, 5.0)
    assert contract.gains["left_knee_joint"] == (150.0, 4.0)
    assert contract.default["left_knee_joint"] == 0.3
    assert contract.default["right_shoulder_roll_joint"] == -0.25
    assert [b.frames for b in contract.blocks] == [5] * 6
    assert "joint_ids has the tag" in contract.notes[0] and "not run" in contract.notes[0]


def test_unitree_rl_lab_sees_five_frames_of_each_term(shared_policies: Path) -> None:
    """Angular velocity first, oldest first; at the start all five are the first."""
    policy, robot = Policy.load(shared_policies / "unitree_rl_lab_g1_velocity"), Robot.load("g1")
    controller = policy.start(robot.joints.names, robot.joints.default)
    first, second = standing(robot, 1, 1), standing(robot, 1, 2)
    for now in (first, second):
        controller.act(now, {"velocity": np.zeros((1, 3))})
    seen = controller.observation[0, :15].reshape(5, 3)
    np.testing.assert_allclose(seen[:4], np.tile(0.2 * first.base_ang_vel_b, (4, 1)))
    np.testing.assert_allclose(seen[4], 0.2 * second.base_ang_vel_b[0])


def asap(folder: Path, shared_policies: Path, name: str) -> Policy:
    """One of ASAP's trackers, with a contract written for it."""
    network = shared_policies / "asap_g1_23dof" / f"{name}.onnx"
    return Policy.load(asap_contract(folder / "policy.toml", network))


@pytest.mark.parametrize("name", TRACKERS)
def test_asap_trackers_load_and_act(name: str, shared_policies: Path, tmp_path: Path) -> None:
    """380 numbers of a contract in some twenty lines."""
    policy, robot = asap(tmp_path, shared_policies, name), Robot.load("g1_23dof")
    assert policy.contract.width == policy.network.width == 380
    assert policy.contract.joints == robot.joints.names
    controller = acted(policy, robot, count=4)
    assert np.abs(controller.action).max() > 0.01
    assert np.abs(controller.targets).max() < np.pi


def test_asap_sees_present_past_and_phase(shared_policies: Path, tmp_path: Path) -> None:
    """The layout of its own code, built anew from four steps."""
    policy, robot = asap(tmp_path, shared_policies, "kick_level1"), Robot.load("g1_23dof")
    controller = policy.start(robot.joints.names, robot.joints.default)
    past: list[dict[str, np.ndarray]] = []
    for step in range(4):
        now, last = standing(robot, 1, step), controller.action[0].copy()
        controller.act(now, {})
        down = Rotation.from_quat(now.base_quat_wxyz[0], scalar_first=True).inv()
        frame = {
            "action": last,
            "gyro": 0.25 * now.base_ang_vel_b[0],
            "q": now.q[0] - robot.joints.default,
            "dq": 0.05 * now.dq[0],
            "gravity": down.apply([0.0, 0.0, -1.0]),
            "phase": np.array([step / 50 / 3.93]),
        }
        zeros = {name: np.zeros_like(value) for name, value in frame.items()}
        old = [past[-1 - k] if k < len(past) else zeros for k in range(4)]
        history = [moment[name] for name in frame for moment in old]
        present = [frame[name] for name in ("action", "gyro", "q", "dq")]
        expected = np.concatenate([*present, *history, frame["gravity"], frame["phase"]])
        np.testing.assert_allclose(controller.observation[0], expected, atol=1e-9)
        past.append(frame)


LEGS = tuple(
    f"{side}_{joint}_joint"
    for side in ("left", "right")
    for joint in ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
)
GYM = f"""
network = "motion.onnx"
name = "unitree_rl_gym"
robot = "g1"
rate = 50
physics_step = 0.002
joints = {list(LEGS)}
default = {[-0.1, 0.0, 0.0, 0.3, -0.2, 0.0] * 2}
kp = {[100, 100, 100, 150, 40, 40] * 2}
kd = {[2, 2, 2, 4, 2, 2] * 2}
hold = {{ left_elbow_joint = 0.5, right_elbow_joint = 0.5 }}
[action]
scale = 0.25
[commands.velocity]
lower = [-0.8, -0.5, -1.57]
upper = [0.8, 0.5, 1.57]
[terms.base_ang_vel]
scale = 0.25
[terms.command]
scale = [2.0, 2.0, 0.25]
[terms.joint_vel]
scale = 0.05
[terms.clock]
kind = "gait_sin_cos"
period = 0.8
[[observation]]
terms = ["base_ang_vel", "projected_gravity", "command", "joint_pos_rel", "joint_vel",
         "last_action", "clock"]
"""


def gym_row(now: State, last: np.ndarray, asked: np.ndarray, step: int) -> np.ndarray:
    """The observation of unitree_rl_gym's deploy script, written anew; legs come first in a G1."""
    w, x, y, z = now.base_quat_wxyz[0]
    gravity = [2 * (-z * x + w * y), -2 * (z * y + w * x), 1 - 2 * (w * w + z * z)]
    pose = np.array([-0.1, 0.0, 0.0, 0.3, -0.2, 0.0] * 2)
    angle = 2 * np.pi * ((step * 0.02) % 0.8) / 0.8
    parts = (
        now.base_ang_vel_b[0] * 0.25,
        gravity,
        asked * [2.0, 2.0, 0.25],
        now.q[0, :12] - pose,
        now.dq[0, :12] * 0.05,
        last,
        [np.sin(angle), np.cos(angle)],
    )
    return np.concatenate(parts)


@pytest.fixture
def gym_policy(tmp_path: Path) -> Policy:
    """Twelve joints of a G1, 47 numbers, an LSTM of 64, a gait clock."""
    nets.lstm(tmp_path / "motion.onnx", 47, 64, 12, layers=1)
    (tmp_path / "policy.toml").write_text(GYM)
    return Policy.load(tmp_path)


def test_a_policy_of_unitree_rl_gym_can_be_said(gym_policy: Policy) -> None:
    """What it sees is what its own script builds, step after step."""
    robot, asked = Robot.load("g1"), np.array([[0.5, -0.1, 0.3]])
    assert gym_policy.contract.width == gym_policy.network.width == 47
    assert gym_policy.network.ports.states == {"h_in": "h_out", "c_in": "c_out"}
    controller = gym_policy.start(robot.joints.names, robot.joints.default)
    for step in range(5):
        now, last = standing(robot, 1, step), controller.action[0].copy()
        controller.act(now, {"velocity": asked})
        expected = gym_row(now, last, asked[0], step)
        np.testing.assert_allclose(controller.observation[0], expected, atol=1e-9)


def test_joints_that_it_does_not_move_are_held(gym_policy: Policy) -> None:
    """Elbows where the contract holds them, the rest at the robot's rest; the legs act."""
    robot = Robot.load("g1")
    rest = robot.joints.default + 0.01
    controller = gym_policy.start(robot.joints.names, rest, 3)
    targets = controller.act(standing(robot, 3), {"velocity": np.zeros((3, 3))})
    elbows = robot.joints.pick(["left_elbow_joint", "right_elbow_joint"])
    others = [i for i in range(12, 29) if i not in elbows]
    assert (targets[:, elbows] == 0.5).all()
    np.testing.assert_array_equal(targets[:, others], np.tile(rest[others], (3, 1)))
    pose = gym_policy.contract.pose
    np.testing.assert_allclose(targets[:, :12], pose + 0.25 * controller.action)
    assert np.abs(controller.action).min() > 0


def test_its_memory_ends_with_the_episode(gym_policy: Policy) -> None:
    """After forget() it does what it did at first; before, something else."""
    robot, asked = Robot.load("g1"), {"velocity": np.zeros((2, 3))}
    controller = gym_policy.start(robot.joints.names, robot.joints.default, 2)
    still = replace(standing(robot, 2), dq=np.zeros((2, 29)))
    first = controller.act(still, asked)
    second = controller.act(still, asked)
    controller.forget(np.array([0]))
    third = controller.act(still, asked)
    np.testing.assert_allclose(third[0], first[0], atol=1e-6)
    assert np.abs(third[1] - first[1]).max() > 1e-4
    assert np.abs(second - first).max() > 1e-4
