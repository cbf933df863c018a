"""Fit a motion into a robot's limits by making it smaller or slower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from gapless.errors import DataError
from gapless.motions.limits import check_joints, check_motion, check_poses, position_limits
from gapless.motions.motion import Motion
from gapless.motions.violations import MotionReport, Violation
from gapless.robots import Robot

SLOWEST = 4.0
"""A motion is stretched in time by this factor at most; beyond it, it is made smaller instead."""
HALVINGS = 7
"""Steps of a bisection: amplitudes are found to better than one hundredth."""
ROUNDS = 20
"""How often single joints are made smaller before all are."""


@dataclass(frozen=True)
class _Shape:
    """How a motion is changed: (J,) amplitudes, one of all joints and the base, and its time."""

    joints: np.ndarray
    whole: float = 1.0
    time: float = 1.0

    @property
    def note(self) -> str:
        least, most = (f"x{x * self.whole:.2g}" for x in (self.joints.min(), self.joints.max()))
        amplitude = least if least == most else f"{least} to {most}"
        return f"fitted: amplitude {amplitude}, time x{self.time:.2g}"


def fit_motion(
    motion: Motion, robot: Robot, *, margin: float = 0.02
) -> tuple[Motion, MotionReport]:
    """Change a motion as little as need be, until `check_motion` finds nothing.

    Amplitudes shrink about the default pose: of single joints for their range, of all together for
    collisions and tipping. Time stretches, up to four times, for velocity and torque; where that is
    not enough (a step stays a step) the joints that ask too much shrink.

    Args:
        motion: what is asked for.
        robot: whose limits.
        margin: share of each joint's range, speed and torque that must stay unused.

    Returns:
        The motion that fits, its `source` saying what was changed, and its report.
    """
    report = check_motion(motion, robot, margin=margin)
    if report.ok:
        return motion, report
    return _Fit(motion.for_robot(robot), robot, margin).run()


class _Fit:
    """One search for the largest and fastest form of a motion that is within the limits."""

    def __init__(self, motion: Motion, robot: Robot, margin: float) -> None:
        self.motion, self.robot, self.margin = motion, robot, margin

    def run(self) -> tuple[Motion, MotionReport]:
        shape = _Shape(self._into_range())
        shape = self._whole(shape, lambda s: check_poses(self._shaped(s), self.robot))
        shape = self._for_motors(shape)
        shape = self._whole(shape, lambda s: self._check(s).violations)
        return self._shaped(shape), self._check(shape)

    def _check(self, shape: _Shape) -> MotionReport:
        return check_motion(self._shaped(shape), self.robot, margin=self.margin)

    def _shaped(self, shape: _Shape) -> Motion:
        motion, home = self.motion, self.robot.joints.default
        smaller = replace(
            motion,
            q=home + shape.whole * shape.joints * (motion.q - home),
            base_pos=_towards_first(motion.base_pos, shape.whole),
            base_quat_wxyz=_turned_less(motion.base_quat_wxyz, shape.whole),
            source="; ".join(filter(None, [motion.source, shape.note])),
            rate=motion.rate / shape.time,
        )
        return smaller.resampled(motion.rate)

    def _into_range(self) -> np.ndarray:
        """(J,) the largest amplitudes with which each joint stays in its range."""
        lower, upper = position_limits(self.robot, self.margin)
        home = self.robot.joints.default
        way = self.motion.q - home
        room = np.where(way > 0, upper - home, lower - home)
        share = np.divide(room, way, out=np.ones_like(way), where=np.abs(way) > 1e-12)
        return np.clip(share.min(axis=0), 0.0, 1.0)

    def _whole(self, shape: _Shape, check: Callable[[_Shape], list[Violation]]) -> _Shape:
        """The shape with the largest amplitude of all joints that passes a check."""
        if not check(shape):
            return shape
        remaining = check(replace(shape, whole=0.0))
        if remaining:
            raise self._unfit("x0, in the default pose,", remaining)
        good, bad = 0.0, shape.whole
        for _ in range(HALVINGS):
            middle = (good + bad) / 2
            remaining = check(replace(shape, whole=middle))
            good, bad = (good, middle) if remaining else (middle, bad)
        if good == 0:
            raise self._unfit(f"x{bad:.2g}", remaining)
        return replace(shape, whole=good)

    def _unfit(self, amplitude: str, remaining: list[Violation]) -> DataError:
        return DataError(
            f"motion {self.motion.name!r} cannot be fitted to {self.robot.name}: even at "
            f"amplitude {amplitude} {'; '.join(map(str, remaining))}"
        )

    def _for_motors(self, shape: _Shape) -> _Shape:
        if not self._overloads(shape):
            return shape
        if self._overloads(replace(shape, time=SLOWEST)):
            return self._smaller_joints(shape)
        good, bad = SLOWEST, 1.0
        for _ in range(HALVINGS):
            middle = np.sqrt(good * bad)
            passed = not self._overloads(replace(shape, time=middle))
            good, bad = (middle, bad) if passed else (good, middle)
        return replace(shape, time=float(good))

    def _smaller_joints(self, shape: _Shape) -> _Shape:
        """Shrink the joints that ask too much, by how much they do."""
        for _ in range(ROUNDS):
            overloads = self._overloads(shape)
            if not overloads:
                break
            joints = shape.joints.copy()
            for violation in overloads:
                column = self.robot.joints.index(violation.joint)
                joints[column] *= np.clip(violation.limit / violation.value, 0.5, 0.98)
            shape = replace(shape, joints=joints)
        return shape

    def _overloads(self, shape: _Shape) -> list[Violation]:
        found, _ = check_joints(self._shaped(shape), self.robot, self.margin)
        return [v for v in found if v.kind != "position"]


def _towards_first(base_pos: np.ndarray | None, share: float) -> np.ndarray | None:
    return None if base_pos is None else base_pos[0] + share * (base_pos - base_pos[0])


def _turned_less(quats: np.ndarray | None, share: float) -> np.ndarray | None:
    if quats is None:
        return None
    turns = Rotation.from_quat(quats, scalar_first=True)
    less = Rotation.from_rotvec(share * (turns[0].inv() * turns).as_rotvec())
    return (turns[0] * less).as_quat(scalar_first=True)
