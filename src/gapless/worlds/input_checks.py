"""What an engine must never be given: it would take a NaN for zero and go on."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError, SimulationError
from gapless.robots import Robot
from gapless.worlds.world import State


def require_finite(name: str, values: np.ndarray, robot: Robot) -> np.ndarray:
    """Commands as numbers, one column a joint; refused where one is missing."""
    values = np.asarray(values, float)
    joints = robot.joints.names
    if values.shape[-1] != len(joints):
        raise SimulationError(
            f"{name} has {values.shape[-1]} columns, {robot.name} has {len(joints)} joints"
        )
    if not np.isfinite(values).all():
        bad = np.unique(np.argwhere(~np.isfinite(values))[:, -1])
        names = [joints[j] for j in bad]
        raise DataError(f"{name} is not finite at {', '.join(names)}; mask those samples first")
    return values


def pushes(
    velocity: np.ndarray, which: np.ndarray | None, alive: np.ndarray, robot: Robot
) -> np.ndarray:
    """(n, 6) to add to all bases: velocity and turning rate, zero where one is not pushed."""
    if robot.mount != "free":
        raise SimulationError(
            f"{robot.name} is mounted {robot.mount!r}: only a free base can be pushed"
        )
    added, chosen = np.zeros((len(alive), 6)), np.arange(len(alive))
    chosen = chosen if which is None else chosen[which]
    velocity = np.asarray(velocity, float)
    fits = velocity.shape in ((len(chosen), 3), (len(chosen), 6))
    if not fits or not np.isfinite(velocity).all():
        raise SimulationError(
            f"a push has velocities {velocity.shape}; expected ({len(chosen)}, 3) finite numbers, "
            f"or ({len(chosen)}, 6) with turning rates"
        )
    added[chosen, : velocity.shape[1]] = velocity
    return np.where(alive[:, None], added, 0.0)


def require_shape(state: State, robot: Robot, free: bool) -> None:
    """Refuse a start that lacks the base of a free robot, or has other joints."""
    if free and state.base_pos is None:
        raise SimulationError(
            f"{robot.name} stands free, so a start needs the base pose and velocity; "
            "give them, or use mount='fixed'"
        )
    joints = len(robot.joints.names)
    if state.q.shape[1:] != (joints,) or state.dq.shape != state.q.shape:
        raise SimulationError(
            f"a start has q {state.q.shape} and dq {state.dq.shape}; "
            f"{robot.name} has {joints} joints"
        )


def require_possible(packed: np.ndarray, turned: np.ndarray | None) -> None:
    """Refuse packed starts that are not finite, and (n, 4) quaternions that are no rotation."""
    if not np.isfinite(packed).all():
        raise DataError("a start state is not finite; mask those samples first")
    if turned is not None and np.abs(np.linalg.norm(turned, axis=1) - 1).max() > 0.1:
        raise DataError("a start's base_quat_wxyz is no unit quaternion; mask that sample")
