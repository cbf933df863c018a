"""RosLink: a robot behind ROS 2: JointState and Imu in, JointTrajectory out, joints by name.

A JointTrajectory has positions, velocities and efforts, and no gains: those are the controller's
own. Gains that a policy asks for therefore never arrive; where that matters, ROS is the wrong link.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.errors import DataError, SafetyError

CHANNELS = ("torque", "base_quat_wxyz", "base_ang_vel_b", "acceleration")
TOPICS = {"joints": "/joint_states", "imu": "/imu/data", "command": "/joint_trajectory"}


def require_ros() -> None:
    """Say what is missing, before anything is done."""
    if find_spec("rclpy") is None:
        raise DataError(
            "link ros2 needs rclpy, which comes with ROS 2 and not from PyPI: source its "
            "setup.bash in this terminal, with the Python that it was made for"
        )


class RosLink:
    """Topics of a robot, polled and never waited for.

    Args:
        joints: in the order of all arrays; the robot's messages may have more, in any order.
        damping: (J,) gains of `damp`, of which only the braking itself can be told.
        topics: names of the three topics.
    """

    is_real = True
    channels = CHANNELS

    def __init__(
        self,
        joints: Sequence[str],
        damping: np.ndarray,
        topics: dict[str, str] | None = None,
    ) -> None:
        require_ros()
        self._ros, sensors = import_module("rclpy"), import_module("sensor_msgs.msg")
        self._messages: Any = import_module("trajectory_msgs.msg")
        self.joints, self._damping = tuple(joints), np.array(damping, float)
        names = TOPICS | (topics or {})
        if not self._ros.ok():
            self._ros.init()
        self._node: Any = self._ros.create_node("gapless_deploy")
        self._node.create_subscription(sensors.JointState, names["joints"], self._joints_came, 1)
        self._node.create_subscription(sensors.Imu, names["imu"], self._imu_came, 1)
        self._out = self._node.create_publisher(self._messages.JointTrajectory, names["command"], 1)
        self._imu: dict[str, Any] = {}
        self._state: LinkState | None = None
        self.incomplete = 0

    def read(self) -> LinkState | None:
        """The newest sample; None until joints and IMU both came."""
        for _ in range(16):
            self._ros.spin_once(self._node, timeout_sec=0)
        return self._state

    def write(self, command: JointCommand) -> JointCommand:
        """One point, to be reached at once; the gains that are recorded are those asked for."""
        command.require_joints(len(self.joints))
        if self._state is None:
            raise SafetyError("nothing was received from the robot: nobody is there to command")
        point = self._messages.JointTrajectoryPoint()
        point.positions, point.velocities = command.q.tolist(), command.dq.tolist()
        point.effort = command.tau.tolist()
        message = self._messages.JointTrajectory()
        message.joint_names, message.points = list(self.joints), [point]
        self._out.publish(message)
        return command

    def damp(self) -> None:
        """As near to braking as a trajectory gets: stay where you are, at no speed."""
        if self._state is not None:
            self.write(JointCommand.damping(self._damping, self._state.q))

    def close(self) -> None:
        """Leave; the controller's own watchdog does the rest."""
        self._node.destroy_node()

    def _joints_came(self, message: Any) -> None:
        rows = {name: k for k, name in enumerate(message.name)}
        if not {*self.joints} <= {*rows} or not self._imu:
            self.incomplete += 1
            return
        order = [rows[joint] for joint in self.joints]
        before = self._state
        self._state = LinkState(
            sequence=1 if before is None else before.sequence + 1,
            stamp=message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec,
            received=time.monotonic(),
            q=_picked(message.position, order),
            dq=_picked(message.velocity, order),
            torque=_picked(message.effort, order),
            **self._imu,
        )

    def _imu_came(self, message: Any) -> None:
        turn, rate, push = (
            message.orientation,
            message.angular_velocity,
            message.linear_acceleration,
        )
        self._imu = {
            "base_quat_wxyz": np.array([turn.w, turn.x, turn.y, turn.z], float),
            "base_ang_vel_b": np.array([rate.x, rate.y, rate.z], float),
            "acceleration": np.array([push.x, push.y, push.z], float),
        }


def _picked(values: Sequence[float], order: list[int]) -> np.ndarray:
    """In our order; a field that a message leaves empty is no number, and trips its check."""
    if len(values) <= max(order):
        return np.full(len(order), np.nan)
    return np.array([values[row] for row in order], float)
