"""How hard a motion is for a robot on its feet: easy, medium or hard, by a rule of ours.

The paper that sorts its motions so publishes no rule. Ours asks three questions of a motion:

- flight: longest time in which both soles are more than `FLIGHT_HEIGHT` above the floor;
- speed: the highest speed that any joint reaches for 5 % of the time, as a share of its limit;
- balance: how far the zero-moment point is outside the feet, in the worst 5 % of the time.

Hard is a motion that flies at all, or has one figure beyond the last limit; easy one that has all
within the first; medium the rest.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.retargeting.stances import stretches
from gapless.motions.soles import soles_of
from gapless.motions.support import balance
from gapless.robots import Robot

FLIGHT_HEIGHT = 0.03
FLIGHT = 0.1
"""Seconds in the air that make a motion hard."""
SPEEDS = 0.15, 0.4
"""Shares of the speed limit up to which a motion is easy, and not yet hard."""
LEANS = 0.05, 0.15
"""Metres outside the feet up to which a motion is easy, and not yet hard."""


@dataclass(frozen=True)
class Difficulty:
    """What the rule found.

    Attributes:
        level: easy, medium or hard.
        flight: s.
        speed: share of the limit.
        balance: m outside the feet; 0 inside.
    """

    level: str
    flight: float
    speed: float
    balance: float

    def __str__(self) -> str:
        return (
            f"{self.level} ({self.flight:.2f} s in the air, joints at {self.speed:.0%} of their "
            f"speed, {1000 * self.balance:.0f} mm off balance)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def rate_difficulty(motion: Motion, robot: Robot) -> Difficulty:
    """Apply the rule.

    Args:
        motion: with a base.
        robot: mounted "free".
    """
    frames = MotionFrames.of(motion, robot)
    state = frames.state
    limit = np.where(robot.joints.velocity > 0, robot.joints.velocity, np.inf)
    speed = float(np.percentile(np.abs(state.dq) / limit, 95, axis=0).max())
    found = balance(robot, state.q, frames.rate, state.base_pos, state.base_quat_wxyz)
    outside = np.zeros(1) if found is None else np.maximum(found.outside, 0.0)
    lean, flight = float(np.percentile(outside, 95)), _flight(frames, robot)
    return Difficulty(_level(flight, speed, lean), flight, speed, lean)


def _level(flight: float, speed: float, lean: float) -> str:
    if flight > FLIGHT or speed > SPEEDS[1] or lean > LEANS[1]:
        return "hard"
    return "easy" if speed <= SPEEDS[0] and lean <= LEANS[0] else "medium"


def _flight(frames: MotionFrames, robot: Robot) -> float:
    soles = soles_of(robot, frames.state)
    if soles is None:
        return 0.0
    up = soles.height.min(axis=1) > FLIGHT_HEIGHT
    return max((stop - start for start, stop in stretches(up)), default=0) / frames.rate
