"""SafetyLimits: every check that a robot is kept by, its limit, and what happens beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError, unknown
from gapless.robots import Robot

ACTIONS = ("clamp", "damp", "refuse", "off")
"""Bring it within the limit and go on; brake for good; do not even begin; not checked."""


@dataclass(frozen=True)
class CheckKind:
    """A kind of check.

    Attributes:
        what: one line for the person who signs.
        limit: that is written where the robot's figures say nothing better.
        actions: that it can take; the first is written.
        channel: of a link's states, without which it cannot be made.
    """

    what: str
    limit: float
    actions: tuple[str, ...]
    channel: str = ""


_DAMP, _CLAMP, _START = ("damp", "off"), ("clamp", "damp", "off"), ("refuse", "off")
KINDS = {
    "finite": CheckKind("numbers that are not numbers, in states or commands", 0, ("damp",)),
    "stale": CheckKind("control steps without a new sample of the robot", 3, ("damp",)),
    "deadline": CheckKind("control steps in a row that came late", 5, _DAMP),
    "target_position": CheckKind("rad by which targets may pass a joint's range", 0.0, _CLAMP),
    "target_rate": CheckKind("share of a joint's rate at which its target may move", 1.0, _CLAMP),
    "target_velocity": CheckKind("share of a joint's speed that may be asked", 1.0, _CLAMP),
    "target_torque": CheckKind("share of a joint's torque that may be asked", 1.0, _CLAMP),
    "power": CheckKind("W that all motors together may put into the motion", 0.0, _CLAMP),
    "clamped": CheckKind("control steps that a joint may be clamped, less those not", 50, _DAMP),
    "output": CheckKind("size of a policy's output", 100.0, _DAMP),
    "position": CheckKind("rad by which a joint may be beyond its range", 0.1, _DAMP),
    "velocity": CheckKind("share of a joint's speed that it may move at", 1.2, _DAMP),
    "torque": CheckKind("share of a joint's torque that it may show", 1.5, _DAMP, "torque"),
    "tracking": CheckKind("rad between a joint and its target, for `tracking_steps`", 1.5, _DAMP),
    "powerless": CheckKind("s for which motors do nothing of what is asked", 0.3, _DAMP, "torque"),
    "tilt": CheckKind("rad by which the base may lean", 0.8, _DAMP, "base_quat_wxyz"),
    "height": CheckKind("m above which the base must be", 0.0, _DAMP, "base_pos"),
    "temperature": CheckKind("°C of a motor", 85.0, _DAMP, "temperature"),
    "voltage": CheckKind("V below which the supply is empty", 0.0, _DAMP, "voltage"),
    "contact": CheckKind("s without any foot on the ground", 1.0, _DAMP, "contact"),
    "motor_fault": CheckKind("faults that the motors report", 0, _DAMP, "motor_fault"),
    "start_distance": CheckKind("rad between a joint and the first target, to begin", 0.5, _START),
    "start_velocity": CheckKind("rad/s of any joint, to begin", 0.5, _START),
}
"""Every check, in the order in which they are written."""


@dataclass(frozen=True)
class SafetyCheck:
    """A limit, and what happens beyond it."""

    limit: float
    action: str


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Figures of the joints, (J,) each.

    Attributes:
        names: of them.
        lower: end of the range, rad.
        upper: the other end.
        velocity: rad/s.
        torque: N·m.
        rate: at which targets may move, rad/s.
        damping: gains with which they brake, N·m·s/rad.
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray
    rate: np.ndarray
    damping: np.ndarray

    def in_order(self, names: Sequence[str]) -> JointLimits:
        """Those of these joints, in this order."""
        lacking = [name for name in names if name not in self.names]
        if lacking:
            raise unknown("joint of the safety limits", lacking[0], self.names)
        rows = [self.names.index(name) for name in names]
        parts = (self.lower, self.upper, self.velocity, self.torque, self.rate, self.damping)
        return JointLimits(tuple(names), *(part[rows] for part in parts))


@dataclass(frozen=True, eq=False)
class SafetyLimits:
    """What a robot is kept by.

    Attributes:
        robot: whose limits they are.
        rate: control steps per second that they are for.
        joints: figures of each.
        checks: by name; all of KINDS.
        tracking_steps: control steps that a joint may be far from its target.
        signed_by: the person who answers for them; "" is nobody.
    """

    robot: str
    rate: float
    joints: JointLimits
    checks: Mapping[str, SafetyCheck]
    tracking_steps: int = 10
    signed_by: str = ""

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise DataError("the safety limits are not whole: " + "; ".join(problems))

    def limit(self, name: str) -> float:
        """Of a check; infinite where it is off."""
        check = self.checks[name]
        return np.inf if check.action == "off" else check.limit

    def on(self, name: str) -> bool:
        """Whether a check is made."""
        return self.checks[name].action != "off"

    @classmethod
    def of_robot(
        cls, robot: Robot, channels: Sequence[str], rate: float | None = None
    ) -> SafetyLimits:
        """Limits from a robot's own figures; checks that a link cannot serve are off.

        Args:
            robot: whose figures they are.
            channels: what the link's states have.
            rate: control steps per second; the robot's own by default.
        """
        joints, rate = robot.joints, float(rate or robot.rate)
        figures = JointLimits(
            *(tuple(joints.names), joints.lower, joints.upper, joints.velocity, joints.effort),
            *(np.minimum(joints.velocity, 30.0), braking_gains(robot)),
        )
        checks = {name: _suggested(kind, channels) for name, kind in KINDS.items()}
        checks |= _own_checks(robot, channels, rate)
        return cls(robot.name, rate, figures, checks)


def braking_gains(robot: Robot) -> np.ndarray:
    """The robot's own velocity gains; where it has none, all its torque at all its speed."""
    joints = robot.joints
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = joints.effort / joints.velocity
    whole = np.where(np.isfinite(whole) & (whole > 0), whole, 1.0)
    return np.where(joints.kd > 0, joints.kd, whole)


def _suggested(kind: CheckKind, channels: Sequence[str]) -> SafetyCheck:
    served = not kind.channel or kind.channel in channels
    return SafetyCheck(kind.limit, kind.actions[0] if served else "off")


def _own_checks(robot: Robot, channels: Sequence[str], rate: float) -> dict[str, SafetyCheck]:
    """What follows from the robot's figures; half a second of clamping at its rate."""
    joints, free = robot.joints, robot.mount == "free"
    power = float(np.sum(joints.effort * joints.velocity))
    found = {"clamped": SafetyCheck(float(max(round(rate / 2), 1)), "damp")}
    bounded = np.isfinite(power) and power > 0
    found["power"] = SafetyCheck(round(power / 4, 1) if bounded else 0.0, "clamp")
    if not bounded:
        found["power"] = SafetyCheck(0.0, "off")
    if not free:
        found["tilt"] = SafetyCheck(KINDS["tilt"].limit, "off")
    tall = free and "base_pos" in channels
    height = round(0.55 * robot.standing_height, 3) if tall else 0.0
    found["height"] = SafetyCheck(height, "damp" if tall else "off")
    # Nothing in a robot's figures says when its battery is empty: a person must.
    found["voltage"] = SafetyCheck(0.0, "off")
    return found


def _problems(limits: SafetyLimits) -> Iterator[str]:
    for name in sorted({*KINDS} ^ {*limits.checks}):
        yield f"check {name!r} is {'unknown' if name in limits.checks else 'missing'}"
    for name in KINDS.keys() & limits.checks.keys():
        check, allowed = limits.checks[name], KINDS[name].actions
        if check.action not in allowed:
            yield f"{name}: action is {check.action!r}; expected one of {', '.join(allowed)}"
        if not np.isfinite(check.limit) or check.limit < 0:
            yield f"{name}: limit is {check.limit}; expected a number of 0 or more"
    if not 0 < limits.rate < np.inf or limits.tracking_steps < 1:
        yield f"rate {limits.rate} and tracking_steps {limits.tracking_steps} must be above 0"
    yield from _joint_problems(limits.joints)


def _joint_problems(joints: JointLimits) -> Iterator[str]:
    for k, name in enumerate(joints.names):
        if not joints.lower[k] < joints.upper[k]:
            yield f"{name}: range {joints.lower[k]} to {joints.upper[k]} is none"
        for figure in ("velocity", "torque", "rate"):
            value = getattr(joints, figure)[k]
            if not value > 0:
                yield f"{name}: {figure} is {value}; expected more than 0"
        if not 0 < joints.damping[k] < np.inf:
            yield f"{name}: damping is {joints.damping[k]}; it could not brake"
