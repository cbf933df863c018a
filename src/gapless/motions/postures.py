"""Random postures, joined by smooth moves: passed through, or held against gravity."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError
from gapless.motions import joint_shapes
from gapless.motions.joint_shapes import Room, rooms
from gapless.motions.motion import Motion, min_jerk
from gapless.motions.waves import Names, play, positive
from gapless.robots import Robot


def waypoints(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.5,
    move: float = 1.5,
) -> Motion:
    """Random postures joined by minimum-jerk moves of about `move` seconds."""
    where = rooms(robot, joints, amplitude=amplitude)
    return visit("waypoints", robot, where, seconds, rate, seed=seed, move=move, dwell=0.0)


def hold(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    joints: Names = None,
    amplitude: float = 0.5,
    move: float = 1.5,
    dwell: float = 2.0,
) -> Motion:
    """Random postures held for `dwell` seconds: what the motors hold is gravity."""
    where = rooms(robot, joints, amplitude=amplitude)
    return visit("hold", robot, where, seconds, rate, seed=seed, move=move, dwell=dwell)


def visit(
    name: str,
    robot: Robot,
    where: list[Room],
    seconds: float,
    rate: float | None,
    *,
    seed: int,
    move: float,
    dwell: float,
) -> Motion:
    """Go from home through random postures and back, resting in each."""
    if not 0 <= dwell < np.inf:
        raise DataError(f"dwell is {dwell}; give seconds, 0 or more")
    legs = max(round((positive("seconds", seconds) + dwell) / (positive("move", move) + dwell)), 2)

    def shape(room: Room, time: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        places = rng.uniform(room.low, room.high, legs + 1)
        places[0] = places[-1] = room.home
        leg = time / max(time[-1], 1e-9) * (legs * move + (legs - 1) * dwell) / (move + dwell)
        before = np.minimum(leg.astype(int), legs - 1)
        share = (leg - before) * (move + dwell) / move
        way = places[before + 1] - places[before]
        return joint_shapes.slowed(places[before] + min_jerk(share) * way, room, time)

    return play(name, robot, where, shape, seconds, rate, together=True, seed=seed)
