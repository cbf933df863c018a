"""Excitation: motions that move a robot's joints in known ways, inside their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.errors import DataError
from gapless.motions import excitation, joint_shapes
from gapless.motions.joint_shapes import Room, Shape, rooms
from gapless.motions.motion import Motion
from gapless.robots import Robot

Names = Sequence[str] | None
"""Names of joints or joint groups; None is all that a motor moves."""
LONGEST = 36_000.0
"""Seconds; ten hours."""


def play(
    name: str,
    robot: Robot,
    where: list[Room],
    shape: Shape,
    seconds: float,
    rate: float | None,
    *,
    together: bool,
    seed: int,
    pose: np.ndarray | None = None,
) -> Motion:
    """Move joints through a shape, all at once or one after another; the rest hold a pose.

    Args:
        name: of the motion.
        robot: gives joints and pose.
        where: the joints that move, and their rooms.
        shape: how each of them moves.
        seconds: length of the whole motion.
        rate: samples per second; the robot's own by default.
        together: all joints at once; else each has an equal part of the time.
        seed: of what is random; each joint has its own stream.
        pose: (J,) held by the joints that do not move; the default pose where not given.
    """
    rate = robot.rate if rate is None else rate
    count = samples(seconds, rate)
    parts = 1 if together else len(where)
    edges = np.linspace(0, count, parts + 1).round().astype(int)
    if np.diff(edges).min() < 4:
        raise DataError(
            f"{name}: {seconds:g} s at {rate:g} Hz leave {np.diff(edges).min()} samples for each "
            f"of {parts} joints; give more seconds, fewer joints, or move them together"
        )
    q = np.tile(robot.joints.default if pose is None else pose, (count, 1))
    for i, room in enumerate(where):
        start, stop = (0, count) if together else edges[i : i + 2]
        rng = np.random.default_rng([seed, room.column])
        q[start:stop, room.column] = shape(room, np.arange(stop - start) / rate, rng)
    return Motion(name, robot.joints.names, rate, q, source=f"{name}, seed {seed}")


def samples(seconds: float, rate: float) -> int:
    """How many samples a motion has; at least two."""
    if not (0 < seconds <= LONGEST and 0 < rate < np.inf):
        raise DataError(
            f"{seconds} s at {rate} Hz cannot be made; give seconds up to {LONGEST:g} and a rate"
        )
    return max(round(seconds * rate), 2)


def ramp(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.5,
    rise: float = 0.2,
    together: bool = False,
) -> Motion:
    """At even speed to one bound, to the other and home."""
    where = rooms(robot, joints, amplitude=amplitude)
    shape = joint_shapes.ramps(rise)
    return play("ramp", robot, where, shape, seconds, rate, together=together, seed=seed)


def steps(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.15,
    hold: float = 1.0,
    rise: float = 0.2,
    together: bool = False,
) -> Motion:
    """Random levels, held; each is reached within `rise` seconds."""
    where = rooms(robot, joints, amplitude=amplitude)
    shape = joint_shapes.staircase(positive("hold", hold), rise)
    return play("steps", robot, where, shape, seconds, rate, together=together, seed=seed)


def chirp(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.3,
    band: tuple[float, float] = (0.1, 2.0),
    together: bool = False,
) -> Motion:
    """A sine whose frequency rises through a band, Hz."""
    low, high = (positive("band", edge) for edge in band)
    where = rooms(robot, joints, amplitude=amplitude)
    shape = joint_shapes.tone(low, high, fade=1.0)
    return play("chirp", robot, where, shape, seconds, rate, together=together, seed=seed)


def prbs(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.1,
    clock: float = 0.3,
    rise: float = 0.2,
    together: bool = False,
) -> Motion:
    """A pseudo-random binary sequence, one bit every `clock` seconds."""
    where = rooms(robot, joints, amplitude=amplitude)
    shape = joint_shapes.binary(positive("clock", clock), rise)
    return play("prbs", robot, where, shape, seconds, rate, together=together, seed=seed)


def fourier(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.5,
    top: float = 0.5,
    together: bool = True,
) -> Motion:
    """A Fourier series up to `top` Hz, at rest and unpushed at both ends."""
    where = rooms(robot, joints, amplitude=amplitude)
    shape = joint_shapes.series(positive("top", top))
    return play("fourier", robot, where, shape, seconds, rate, together=together, seed=seed)


def sweep(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 1.0,
    fastest: float = 0.5,
    together: bool = False,
) -> Motion:
    """A slow triangle through each joint's range, never above `fastest` rad/s."""
    slow = [
        Room(r.column, r.low, r.high, r.home, min(r.speed, positive("fastest", fastest)))
        for r in rooms(robot, joints, amplitude=amplitude)
    ]
    shape = joint_shapes.ramps(rise=0.2)
    return play("sweep", robot, slow, shape, seconds, rate, together=together, seed=seed)


def multisine(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.4,
    band: tuple[float, float] = (0.1, 0.8),
    tones: int = 3,
) -> Motion:
    """A sum of sines in every joint at once; `amplitude` is of the room to the nearer limit."""
    rate = robot.rate if rate is None else rate
    samples(seconds, rate)
    moved = [room.column for room in rooms(robot, joints, amplitude=amplitude)]
    waves = excitation.multisine(
        robot, seconds, rate, seed=seed, amplitude=amplitude, band=band, tones=tones
    )
    q = np.tile(robot.joints.default, (len(waves), 1))
    q[:, moved] = waves[:, moved]
    return Motion("multisine", robot.joints.names, rate, q, source=f"multisine, seed {seed}")


def positive(name: str, value: float) -> float:
    """The value of an option that must be above zero."""
    if not 0 < value < np.inf:
        raise DataError(f"{name} is {value}; give a number above 0")
    return value
