"""Policies and their contracts: read, and run for two steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.reader import Reader
from fuzz.small_arm import robot_named
from gapless.policies import Policy
from gapless.worlds.world import State

NAMES = ("go2",)
RANGES = {"lin_vel_x": [-0.5, 1.0], "lin_vel_y": [-0.3, 0.3], "ang_vel_z": [-0.2, 0.2]}


def run(source: Path, out: Path) -> None:
    """Load the policy of a folder and let it act twice."""
    robot = robot_named("go2")
    policy = Policy.load(source / "policy", robot)
    acted_twice(policy, robot)


def acted_twice(policy: Policy, robot: Any) -> None:
    """From the robot's stance."""
    joints = robot.joints
    controller = policy.start(joints.names, joints.default)
    still = np.zeros((1, 3))
    readings = State(
        joints.default[None],
        0 * joints.default[None],
        base_pos=still + np.array([0, 0, 0.3]),
        base_quat_wxyz=np.array([[1.0, 0, 0, 0]]),
        base_lin_vel_w=still,
        base_ang_vel_b=still,
    )
    asked = {
        name: np.zeros((1, len(command.lower)))
        for name, command in policy.contract.commands.items()
    }
    for _ in range(2):
        controller.act(readings, asked)


def contract(folder: Path) -> None:
    """A network and its policy.toml."""
    from still_policy import write_policy

    write_policy(folder / "policy")


def deploy(folder: Path) -> None:
    """A network and Unitree's file."""
    import yaml

    from small_networks import constant

    names, count = robot_named("go2").joints.names, 12
    seen = {"params": {}, "clip": None, "scale": None, "history_length": 2}
    action = {"clip": None, "scale": [0.25] * 12, "offset": [0.1] * 12, "joint_ids": None}
    data = {
        "joint_ids_map": list(range(len(names))),
        "step_dt": 0.02,
        "stiffness": [40.0] * count,
        "damping": [1.0] * count,
        "default_joint_pos": [0.1] * count,
        "commands": {"base_velocity": {"ranges": RANGES}},
        "actions": {"JointPositionAction": action},
        "observations": {
            "base_ang_vel": seen | {"scale": [0.2] * 3, "params": {}},
            "joint_pos_rel": seen,
        },
    }
    constant(folder / "policy" / "policy.onnx", 30, [0.1] * count)
    (folder / "policy" / "deploy.yaml").write_text(yaml.safe_dump(data, sort_keys=False))


def tracker(folder: Path) -> None:
    """A tracker of ours with its motion."""
    from itertools import pairwise

    from fuzz.small_arm import motion
    from gapless.motions.motion_frames import MotionFrames
    from gapless.policies.mlp_weights import MlpWeights
    from gapless.tracking.tracker_files import Tracker
    from gapless.tracking.tracking_contract import tracking_contract
    from small_networks import drawn

    robot = robot_named("go2")
    frames = MotionFrames.of(motion(robot, 0.5), robot)
    contract = tracking_contract(frames, robot, "beyondmimic", "default", 0.005)
    sizes = contract.width, 8, len(contract.joints)
    layers = tuple((drawn(a, b).T, drawn(b)) for a, b in pairwise(sizes))
    found = Tracker(contract, MlpWeights(layers), frames, {"seed": 3})
    seen = np.zeros((3, contract.width))
    found.save(folder / "policy", seen, found.weights(seen))


def dense(source: Path, out: Path) -> None:
    """The weights alone, as fine-tuning reads them."""
    from gapless.policies.mlp_weights import read_mlp

    weights = read_mlp(source / "policy" / "policy.onnx")
    weights(np.zeros((2, weights.width)))


def reader(name: str, make: Callable[[Path], None], files: str, **more: Any) -> Reader:
    """Of some files of a policy's folder."""
    return Reader(name, make, more.get("use", run), (f"policy/{files}",), make is tracker)


READERS = (
    reader("policy.toml", contract, "*.toml"),
    reader("onnx", contract, "*.onnx"),
    reader("deploy.yaml", deploy, "*"),
    reader("tracker", tracker, "*"),
    reader("mlp weights", tracker, "*.onnx", use=dense),
)
