"""A robot of two joints that is all right, and its limits: what tests then make worse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gapless.deployment.robot_link import CHANNELS, JointCommand, LinkState
from gapless.deployment.safety_limits import KINDS, JointLimits, SafetyCheck, SafetyLimits

NAMES = ("hip", "knee")
RATE = 50.0
DT = 1 / RATE


def limits(signed_by: str = "", **checks: SafetyCheck) -> SafetyLimits:
    """Every check is made."""
    two = np.ones(2)
    figures = JointLimits(NAMES, -2 * two, 2 * two, 10 * two, 20 * two, 10 * two, 3 * two)
    both = {name: SafetyCheck(kind.limit, kind.actions[0]) for name, kind in KINDS.items()}
    both |= {"power": SafetyCheck(100.0, "clamp"), "height": SafetyCheck(0.3, "damp")}
    both |= {"voltage": SafetyCheck(40.0, "damp")}
    return SafetyLimits("arm", RATE, figures, both | checks, signed_by=signed_by)


def state(sequence: int = 1, **changes: Any) -> LinkState:
    """At rest, upright, cool, on its feet."""
    two = np.zeros(2)
    good = LinkState(
        *(sequence, sequence * DT, sequence * DT, two, two),
        torque=two,
        temperature=two + 30,
        base_quat_wxyz=np.array([1.0, 0, 0, 0]),
        base_ang_vel_b=np.zeros(3),
        base_pos=np.array([0, 0, 0.7]),
        base_lin_vel_w=np.zeros(3),
        acceleration=np.array([0, 0, 9.81]),
        contact=np.array([100.0, 90.0]),
        voltage=50.0,
        motor_fault=two,
    )
    return replace(good, **changes)


def command(q: Any = 0.0, kp: float = 20.0, **changes: Any) -> JointCommand:
    """Hold a pose."""
    two = np.ones(2)
    return replace(JointCommand.of_targets(q * two, kp * two, two), **changes)


class FakeLink:
    """A robot that keeps what it is told, and shows what tests want."""

    def __init__(self, is_real: bool = False, lacking: tuple[str, ...] = ()) -> None:
        self.joints, self.is_real = NAMES, is_real
        self.channels = tuple(c for c in CHANNELS if c not in lacking)
        self.sent: list[JointCommand] = []
        self.damped = 0
        self.closed = False
        self.sequence = 0
        self.changes: dict[str, Any] = {}
        self.frozen = False

    def read(self) -> LinkState | None:
        """A new sample every time, unless the cable is out."""
        self.sequence += not self.frozen
        return state(self.sequence, **self.changes)

    def write(self, command: JointCommand) -> JointCommand:
        """Kept."""
        self.sent.append(command)
        return command

    def damp(self) -> None:
        """Counted."""
        self.damped += 1

    def close(self) -> None:
        """Noted."""
        self.closed = True


class FakeClock:
    """Time that passes only when somebody sleeps or works."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        """Seconds."""
        return self.time

    def sleep_until(self, moment: float) -> None:
        """At once."""
        self.time = max(self.time, moment)
