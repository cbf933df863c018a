"""The ROS 2 link with a stand-in for the import: names, order, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gapless.deployment.links.ros_link import RosLink
from gapless.errors import DataError, SafetyError
from safe_arm import NAMES, command


class Node:
    """Keeps callbacks and what is published."""

    def __init__(self) -> None:
        self.heard: dict[str, Callable[[Any], None]] = {}
        self.sent: list[Any] = []

    def create_subscription(
        self, kind: object, topic: str, heard: Callable[[Any], None], depth: int
    ) -> None:
        """Kept."""
        self.heard[topic] = heard

    def create_publisher(self, kind: object, topic: str, depth: int) -> SimpleNamespace:
        """Kept."""
        return SimpleNamespace(publish=self.sent.append)

    def destroy_node(self) -> None:
        """Forget all."""
        self.heard = {}


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A stand-in for ROS 2."""
    made = Node()
    parts = {
        "rclpy": {
            "ok": lambda: True,
            "create_node": lambda name: made,
            "spin_once": lambda node, timeout_sec: None,
        },
        "sensor_msgs": {},
        "sensor_msgs.msg": {"JointState": object, "Imu": object},
        "trajectory_msgs": {},
        "trajectory_msgs.msg": {
            "JointTrajectory": SimpleNamespace,
            "JointTrajectoryPoint": SimpleNamespace,
        },
    }
    for name, values in parts.items():
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        module.__dict__.update(values)
        monkeypatch.setitem(sys.modules, name, module)
    return made


def joints(names: list[str], **fields: list[float]) -> SimpleNamespace:
    """A JointState."""
    stamp = SimpleNamespace(sec=3, nanosec=500_000_000)
    zero = {"velocity": [0.0] * len(names), "effort": [0.0] * len(names)}
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp), name=names, **{**zero, **fields})


def imu() -> SimpleNamespace:
    """An Imu that is tilted."""
    three = SimpleNamespace(x=0.1, y=0.2, z=0.3)
    turn = SimpleNamespace(x=0.1, y=0.0, z=0.0, w=0.99)
    return SimpleNamespace(orientation=turn, angular_velocity=three, linear_acceleration=three)


def test_joints_are_found_by_name_and_commands_carry_names(node: Node) -> None:
    """In whatever order the robot tells them."""
    link = RosLink(NAMES, np.ones(2))
    with pytest.raises(SafetyError, match="nothing was received"):
        link.write(command(0.3))
    link.damp()
    node.heard["/joint_states"](joints(["knee", "hip"], position=[0.2, 0.1]))
    assert link.read() is None and link.incomplete == 1  # no IMU yet
    node.heard["/imu/data"](imu())
    node.heard["/joint_states"](
        joints(["knee", "other", "hip"], position=[0.2, 9, 0.1], effort=[2.0, 9, 1.0])
    )
    state = link.read()
    assert state is not None and state.q.tolist() == [0.1, 0.2] and state.stamp == 3.5
    assert state.torque is not None and state.torque.tolist() == [1.0, 2.0]
    assert state.base_quat_wxyz is not None and state.base_quat_wxyz[0] == 0.99  # wxyz
    link.write(command(0.3))
    message = node.sent[0]
    assert message.joint_names == list(NAMES) and message.points[0].positions == [0.3, 0.3]
    link.damp()
    assert node.sent[1].points[0].positions == [0.1, 0.2]
    assert link.is_real
    link.close()


def test_what_a_message_lacks_is_no_number(node: Node) -> None:
    """So the check of finite states damps; a robot without a joint of ours is never seen."""
    link = RosLink(NAMES, np.ones(2))
    node.heard["/imu/data"](imu())
    node.heard["/joint_states"](joints(["hip", "knee"], position=[0.1, 0.2], velocity=[]))
    state = link.read()
    assert state is not None and np.isnan(state.dq).all()
    node.heard["/joint_states"](joints(["hip"], position=[0.5]))
    again = link.read()
    assert link.incomplete == 1 and again is not None and again.sequence == 1


def test_without_ros_it_is_said_where_it_comes_from() -> None:
    """Not from PyPI."""
    with pytest.raises(DataError, match=r"setup\.bash"):
        RosLink(NAMES, np.ones(2))
