"""RobotLink: what the control loop knows of a robot, whatever carries the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gapless.errors import DataError

CHANNELS = (
    "torque",
    "temperature",
    "base_quat_wxyz",
    "base_ang_vel_b",
    "base_pos",
    "base_lin_vel_w",
    "acceleration",
    "contact",
    "voltage",
    "motor_fault",
)
"""Fields of a LinkState that a link may lack."""


@dataclass(frozen=True)
class LinkReadings:
    """A LinkState as policies read it: one environment, (1, ...) each."""

    q: np.ndarray
    dq: np.ndarray
    base_quat_wxyz: np.ndarray | None
    base_ang_vel_b: np.ndarray | None
    base_lin_vel_w: np.ndarray | None
    base_pos: np.ndarray | None


@dataclass(frozen=True, eq=False)
class LinkState:
    """One sample of a robot's sensors, joints in the order of the link.

    Attributes:
        sequence: rises with every new sample; the same number is the same sample.
        stamp: the robot's own clock when it was taken, s.
        received: monotonic clock of this computer when it came in, s.
        q: (J,) positions, rad.
        dq: (J,) velocities, rad/s.
        torque: (J,) as the motors estimate it, N·m.
        temperature: (J,) of the motors, °C.
        base_quat_wxyz: (4,) orientation of the root.
        base_ang_vel_b: (3,) angular velocity of the root in its own frame, rad/s.
        base_pos: (3,) of the root, m; only simulators and motion capture know it.
        base_lin_vel_w: (3,) of the root, m/s; likewise.
        acceleration: (3,) of the IMU, m/s².
        contact: (F,) force on each foot, in the sensor's unit; 0 is none.
        voltage: of the supply, V.
        motor_fault: (J,) what the motors report; 0 is nothing wrong.
    """

    sequence: int
    stamp: float
    received: float
    q: np.ndarray
    dq: np.ndarray
    torque: np.ndarray | None = None
    temperature: np.ndarray | None = None
    base_quat_wxyz: np.ndarray | None = None
    base_ang_vel_b: np.ndarray | None = None
    base_pos: np.ndarray | None = None
    base_lin_vel_w: np.ndarray | None = None
    acceleration: np.ndarray | None = None
    contact: np.ndarray | None = None
    voltage: float | None = None
    motor_fault: np.ndarray | None = None

    @property
    def readings(self) -> LinkReadings:
        """What a policy may see of it."""
        return LinkReadings(
            q=np.asarray(self.q, float)[None],
            dq=np.asarray(self.dq, float)[None],
            base_quat_wxyz=_row(self.base_quat_wxyz),
            base_ang_vel_b=_row(self.base_ang_vel_b),
            base_lin_vel_w=_row(self.base_lin_vel_w),
            base_pos=_row(self.base_pos),
        )


def _row(array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else np.asarray(array, float)[None]


@dataclass(frozen=True, eq=False)
class JointCommand:
    """What the motors shall do: kp (q - q_now) + kd (dq - dq_now) + tau, (J,) each.

    Attributes:
        q: targets, rad.
        dq: target velocities, rad/s.
        kp: position gains, N·m/rad.
        kd: velocity gains, N·m·s/rad.
        tau: torques added to it, N·m.
        output: what a policy's network gave, before it became targets; None without a policy.
    """

    q: np.ndarray
    dq: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    tau: np.ndarray
    output: np.ndarray | None = None

    @classmethod
    def of_targets(
        cls, q: np.ndarray, kp: np.ndarray, kd: np.ndarray, output: np.ndarray | None = None
    ) -> JointCommand:
        """Positions alone."""
        return cls(q, np.zeros_like(q), kp, kd, np.zeros_like(q), output)

    @classmethod
    def damping(cls, kd: np.ndarray, q: np.ndarray | None = None) -> JointCommand:
        """Motors that only brake; where they are does not matter to them."""
        zero = np.zeros(len(kd))
        here = zero if q is None else np.nan_to_num(q, nan=0.0, posinf=0.0, neginf=0.0)
        return cls(here, zero, zero, np.asarray(kd, float), zero)

    @property
    def damps(self) -> bool:
        """Whether it can do nothing but brake."""
        return not (self.kp.any() or self.tau.any() or self.dq.any())

    def torque(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """(J,) what the motors make of it where they are now, N·m."""
        return self.kp * (self.q - q) + self.kd * (self.dq - dq) + self.tau

    def require_joints(self, count: int) -> None:
        """Refuse a command for another number of joints."""
        for name in ("q", "dq", "kp", "kd", "tau"):
            shape = np.shape(getattr(self, name))
            if shape != (count,):
                raise DataError(f"{name} of a command has shape {shape}; this robot has {count}")


class RobotLink(Protocol):
    """A way to a robot: newest sample in, commands out."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names, in the order of all arrays."""
        ...

    @property
    def channels(self) -> Sequence[str]:
        """Which of CHANNELS its states have."""
        ...

    @property
    def is_real(self) -> bool:
        """Whether something can break."""
        ...

    def read(self) -> LinkState | None:
        """The newest sample, without waiting; None before the first."""
        ...

    def write(self, command: JointCommand) -> JointCommand:
        """Send a command; returns what was really sent."""
        ...

    def damp(self) -> None:
        """Send the link's own damping command: it needs no state and nobody's permission."""
        ...

    def close(self) -> None:
        """Let go; the robot is on its own watchdog from here."""
        ...
