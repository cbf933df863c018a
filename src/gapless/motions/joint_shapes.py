"""Shapes: how one joint moves inside its room, from its home and back to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import chirp, max_len_seq

from gapless.errors import DataError
from gapless.motions.motion import min_jerk
from gapless.robots import Robot

UNLIMITED_RANGE = np.pi / 2
"""How far a joint without limits may go from its home, rad."""
UNLIMITED_SPEED = 2 * np.pi
"""Speed of a joint whose limit is not known, rad/s."""


@dataclass(frozen=True)
class Room:
    """Where one joint may go.

    Attributes:
        column: of the joint, in the robot's order.
        low: lower bound, rad.
        high: upper bound, rad.
        home: where it starts and ends, between the bounds, rad.
        speed: highest speed, rad/s.
    """

    column: int
    low: float
    high: float
    home: float
    speed: float

    @property
    def middle(self) -> float:
        """Half way between the bounds."""
        return 0.5 * (self.low + self.high)

    @property
    def half(self) -> float:
        """Half the distance between the bounds."""
        return 0.5 * (self.high - self.low)


Shape = Callable[[Room, np.ndarray, np.random.Generator], np.ndarray]
"""(T,) positions of one joint at (T,) seconds, starting and ending at home."""


def rooms(
    robot: Robot,
    joints: Sequence[str] | None = None,
    *,
    amplitude: float = 1.0,
    margin: float = 0.05,
    speed: float = 0.5,
    home: np.ndarray | None = None,
) -> list[Room]:
    """The rooms of joints, or of all joints that a motor moves.

    Args:
        robot: gives limits and the default pose.
        joints: names of joints or joint groups.
        amplitude: share of the way from home to each bound that may be used.
        margin: share of the range that is kept free at either limit.
        speed: share of the speed limit that may be used.
        home: (J,) pose, rad; the default pose where not given.
    """
    for name, value, top in (("amplitude", amplitude, 1), ("margin", margin, 0.49)):
        if not 0 <= value <= top:
            raise DataError(f"{name} is {value}; give a share from 0 to {top}")
    if not 0 < speed <= 1:
        raise DataError(f"speed is {speed}; give a share of the speed limit above 0, up to 1")
    pose = robot.joints.default if home is None else home
    return [_room(robot, i, pose[i], amplitude, margin, speed) for i in _columns(robot, joints)]


def _room(robot: Robot, i: int, home: float, amplitude: float, margin: float, speed: float) -> Room:
    limits = robot.joints
    low = limits.lower[i] if np.isfinite(limits.lower[i]) else home - UNLIMITED_RANGE
    high = limits.upper[i] if np.isfinite(limits.upper[i]) else home + UNLIMITED_RANGE
    spare = margin * (high - low)
    low, high = min(low + spare, home), max(high - spare, home)
    fastest = limits.velocity[i] if 0 < limits.velocity[i] < np.inf else UNLIMITED_SPEED
    bounds = (float(home + amplitude * (bound - home)) for bound in (low, high))
    return Room(i, *bounds, home=float(home), speed=float(speed * fastest))


def _columns(robot: Robot, joints: Sequence[str] | None) -> list[int]:
    moved = np.flatnonzero(robot.joints.actuated).tolist()
    if joints is not None:
        if isinstance(joints, str):
            joints = [joints]
        named = {j for name in joints for j in robot.joint_names(name)}
        moved = [i for i in moved if robot.joints.names[i] in named]
    if not moved:
        raise DataError(f"no joint of {robot.name} is left to move; name others, or lock fewer")
    return moved


def tone(low: float, high: float, fade: float) -> Shape:
    """A sine whose frequency rises from low to high (Hz); its size falls where speed demands it."""

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        length = max(float(time[-1]), 1e-9)
        frequency = low * (high / low) ** (time / length)
        wave = chirp(time, low, length, high, method="logarithmic", phi=-90)
        size = np.minimum(room.half, room.speed / (2 * np.pi * frequency))
        return _faded(room.middle + size * wave, room, time, fade)

    return shape


def ramps(rise: float) -> Shape:
    """At even speed to one bound, to the other, and home; corners rounded over `rise` seconds."""

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        ends = [room.high, room.low] if rng.random() < 0.5 else [room.low, room.high]
        stops = np.array([room.home, *ends, room.home])
        way = np.concatenate([[0], np.cumsum(np.abs(np.diff(stops)))])
        share = np.clip((time - rise) / max(time[-1] - 2 * rise, 1e-9), 0, 1)
        return softened(np.interp(share * way[-1], way, stops), room, time, rise)

    return shape


def staircase(hold: float, rise: float) -> Shape:
    """Random levels, each held for `hold` seconds."""

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        count = max(int(time[-1] / hold) + 1, 3)
        bounds = rng.choice([room.low, room.high], count)
        levels = room.home + rng.uniform(0.3, 1.0, count) * (bounds - room.home)
        levels[0] = levels[-1] = room.home
        which = np.minimum(time / max(time[-1], 1e-9) * len(levels), len(levels) - 1)
        return softened(levels[which.astype(int)], room, time, rise)

    return shape


def binary(clock: float, rise: float) -> Shape:
    """A maximum-length sequence between the bounds, one bit every `clock` seconds."""

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        state = rng.integers(0, 2, 10)
        state[rng.integers(10)] = 1  # the register must not be all zero
        bits = max_len_seq(10, state, length=int(time[-1] / clock) + 1)[0]
        values = np.where(bits[(time / clock).astype(int)], room.high, room.low)
        return softened(values, room, time, rise)

    return shape


def series(top: float) -> Shape:
    """A finite Fourier series up to about `top` Hz; all vanishes at both ends up to acceleration.

    A random series is multiplied by 1 - (1 - sin⁴)ⁿ of half the base angle: that too is a finite
    Fourier series, with a zero of fourth order at both ends, and never above one. The power grows
    with the length, so that long motions do not spend their time rising.
    """

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        angle = 2 * np.pi * time / max(float(time[-1]), 1e-9)
        k = np.arange(1, max(3, int(np.ceil(top * time[-1]))) + 1)
        sines, cosines = rng.normal(size=(2, len(k))) / k
        wave = np.sin(angle[:, None] * k) @ sines + np.cos(angle[:, None] * k) @ cosines
        envelope = 1 - (1 - np.sin(0.5 * angle) ** 4) ** max(4.0, np.ceil(time[-1] ** 2))
        inside = room.middle + room.half * wave / np.abs(wave).max()
        return slowed(room.home + envelope * (inside - room.home), room, time)

    return shape


def softened(values: np.ndarray, room: Room, time: np.ndarray, rise: float) -> np.ndarray:
    """Turn each jump into a smooth rise; start and end at home; obey the speed limit."""
    width = round(rise / (time[1] - time[0])) | 1 if len(time) > 1 else 1
    width = min(width, max(len(time) // 4 * 2 - 1, 1))
    half = width // 2
    kernel = np.hanning(width + 2)[1:-1]
    held = np.array(values, float)
    held[: half + 1] = held[len(held) - half - 1 :] = room.home
    soft = np.convolve(np.pad(held, half, mode="edge"), kernel / kernel.sum(), mode="valid")
    return slowed(soft, room, time)


def slowed(values: np.ndarray, room: Room, time: np.ndarray) -> np.ndarray:
    """Shrink a motion about its home until it obeys the speed limit."""
    if len(time) < 2:
        return values
    fastest = np.abs(np.diff(values)).max() / (time[1] - time[0])
    return room.home + (values - room.home) * min(1.0, room.speed / max(fastest, 1e-12))


def _faded(values: np.ndarray, room: Room, time: np.ndarray, fade: float) -> np.ndarray:
    """Blend from home into a wave and back, so that a robot is not thrown into its middle."""
    fade = max(min(fade, 0.5 * float(time[-1])), 1e-9)
    envelope = min_jerk(np.minimum(time, time[-1] - time) / fade)
    return slowed(room.home + envelope * (values - room.home), room, time)
