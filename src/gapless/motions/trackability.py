"""Whether a motion can be tracked at all: limits, speeds, the floor, sliding feet, balance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.soles import Soles, soles_of
from gapless.motions.support import balance
from gapless.printing import PrintsAsTables
from gapless.robots import Robot

NEAR = 0.02
"""A foot lower than this above the lowest place of the motion is on the floor, m."""


@dataclass(frozen=True)
class TrackabilityCheck:
    """One question.

    Attributes:
        name: of it.
        value: worst of the motion.
        limit: that a tracker can live with.
        unit: of both.
        time: of the worst moment, s.
        where: joint or link.
        fatal: whether a motion beyond the limit is refused, or only warned about.
    """

    name: str
    value: float
    limit: float
    unit: str
    time: float
    where: str
    fatal: bool

    @property
    def ok(self) -> bool:
        """Whether it is within the limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        return (
            f"{self.name} {self.value:.3g} {self.unit} at {self.time:.2f} s{where}, "
            f"{self.limit:.3g} is the most"
        )


@dataclass(frozen=True)
class Trackability(PrintsAsTables):
    """The answers to all questions.

    Attributes:
        motion: its name.
        robot: its name.
        checks: one a question.
    """

    motion: str
    robot: str
    checks: tuple[TrackabilityCheck, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against training a tracker."""
        return all(check.ok for check in self.checks if check.fatal)

    @property
    def answer(self) -> str:
        """The one line that was asked for."""
        wrong = [c for c in self.checks if not c.ok]
        fatal = [c.name for c in wrong if c.fatal]
        if fatal:
            return f"{self.motion} cannot be tracked by {self.robot}: {', '.join(fatal)}"
        doubts = f"; expect errors from: {', '.join(c.name for c in wrong)}" if wrong else ""
        return f"{self.motion} can be tracked by {self.robot}{doubts}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        checks = [asdict(check) | {"ok": check.ok} for check in self.checks]
        return {"answer": self.answer, "ok": self.ok, "checks": checks}

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        table = Table("check", "worst", "limit", "at", "where", "verdict")
        for c in self.checks:
            verdict = "ok" if c.ok else "refused" if c.fatal else "doubtful"
            values = (f"{v:.3g} {c.unit}" for v in (c.value, c.limit))
            table.add_row(c.name, *values, f"{c.time:.2f} s", c.where, verdict)
        return Group(self.answer, table)


def check_trackability(motion: Motion, robot: Robot) -> Trackability:
    """Ask every question of a motion.

    Args:
        motion: its joints are matched by name.
        robot: on its feet, or held.
    """
    frames = MotionFrames.of(motion, robot)
    found = [check(frames, robot) for check in _OF_JOINTS]
    soles = soles_of(robot, frames.state) if robot.mount == "free" else None
    if soles is not None:
        found += [_penetration(frames, soles), _floating(frames, soles), _skating(frames, soles)]
        found += _balance(frames, robot)
    return Trackability(motion.name, robot.name, tuple(found))


def refuse_untrackable(motion: Motion, robot: Robot) -> None:
    """Refuse what no training can make a robot follow, before the hours that it would take.

    Raises:
        DataError: with every limit that the motion breaks, where and when.
    """
    found = check_trackability(motion, robot)
    broken = "; ".join(str(check) for check in found.checks if check.fatal and not check.ok)
    if broken:
        asked = f"gapless motion check FILE --robot {robot.source or robot.name}"
        raise DataError(
            f"motion {motion.name!r} cannot be tracked by {robot.name}: {broken}. {asked} shows "
            "all of it; gapless motion FILE --fit makes joints slower, a base that is too low is "
            "raised where the motion is made"
        )


def _worst(
    name: str, values: np.ndarray, limit: float, unit: str, frames: MotionFrames, **how: Any
) -> TrackabilityCheck:
    """The largest of (T,) or (T, K) values."""
    table = values.reshape(len(values), -1)
    t, k = np.unravel_index(int(np.argmax(table)), table.shape)
    names = how.get("names", ("",))
    return TrackabilityCheck(
        *(name, float(table[t, k]), limit, unit, float(t / frames.rate), names[k]),
        fatal=bool(how.get("fatal", False)),
    )


def _range(frames: MotionFrames, robot: Robot) -> TrackabilityCheck:
    joints = robot.joints
    out = np.maximum(frames.state.q - joints.upper, joints.lower - frames.state.q)
    out = np.maximum(np.where(np.isfinite(out), out, 0.0), 0.0)
    named = {"names": joints.names, "fatal": True}
    return _worst("joints beyond their range", out, 0.15, "rad", frames, **named)


def _speed(frames: MotionFrames, robot: Robot) -> TrackabilityCheck:
    limit = np.where(robot.joints.velocity > 0, robot.joints.velocity, np.inf)
    share = np.abs(frames.state.dq) / limit
    named = {"names": robot.joints.names, "fatal": True}
    return _worst("speed of joints", share, 1.0, "of the limit", frames, **named)


def _cuts(frames: MotionFrames, robot: Robot) -> TrackabilityCheck:
    """Jumps of the base between frames, as where two clips were joined."""
    pos = frames.state.base_pos
    moved = np.zeros(2) if pos is None else np.linalg.norm(np.diff(pos, axis=0), axis=1)
    named = {"names": (robot.root,), "fatal": True}
    return _worst("jumps of the base", moved * frames.rate, 8.0, "m/s", frames, **named)


_OF_JOINTS: tuple[Callable[[MotionFrames, Robot], TrackabilityCheck], ...] = (_range, _speed, _cuts)


def _penetration(frames: MotionFrames, soles: Soles) -> TrackabilityCheck:
    deep = np.maximum(-soles.height, 0.0)
    return _worst("feet below the floor", deep, 0.05, "m", frames, names=soles.names, fatal=True)


def _floating(frames: MotionFrames, soles: Soles) -> TrackabilityCheck:
    """How high the lower foot is where the motion is nearest to the floor; jumps are not meant."""
    usual = np.percentile(soles.height.min(axis=1), 25)
    return _worst("feet above the floor", np.full((1, 1), max(usual, 0.0)), 0.05, "m", frames)


def _skating(frames: MotionFrames, soles: Soles) -> TrackabilityCheck:
    speed = np.linalg.norm(np.gradient(soles.place, axis=0), axis=-1) * frames.rate
    on = soles.height < max(0.0, float(soles.height.min())) + NEAR
    slides = np.where(on, speed, 0.0)
    mean = slides.sum(axis=0) / np.maximum(on.sum(axis=0), 1)
    return _worst("sliding of feet", mean[None], 0.1, "m/s, mean", frames, names=soles.names)


def _balance(frames: MotionFrames, robot: Robot) -> list[TrackabilityCheck]:
    state = frames.state
    found = balance(robot, state.q, frames.rate, state.base_pos, state.base_quat_wxyz)
    if found is None:
        return []
    out = np.maximum(found.outside, 0.0)
    return [_worst("zero-moment point outside the feet", out, 0.1, "m", frames)]
