"""How an IMU sits in its robot: what it shows of the base, and the base behind what it shows.

A log's orientation and angular velocity are the IMU's. Where it is mounted askew, every replay
would start from a robot that leans, and a policy would see one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from gapless.robots.rotations import conj, mul, normalise, rotate
from gapless.worlds.effects import Effects
from gapless.worlds.world import State

AnyState = TypeVar("AnyState", bound=State)


def shown(true: AnyState, effects: Effects) -> AnyState:
    """The state as the IMU shows its base; (n, ...) arrays."""
    if not effects.imu_errs or true.base_quat_wxyz is None:
        return true
    askew, bias = _of(effects, true.base_quat_wxyz)
    quat = mul(true.base_quat_wxyz, askew)
    if true.base_ang_vel_b is None:
        return replace(true, base_quat_wxyz=quat)
    gyro = rotate(conj(askew), true.base_ang_vel_b) + bias
    return replace(true, base_quat_wxyz=quat, base_ang_vel_b=gyro)


def behind(seen: AnyState, effects: Effects) -> AnyState:
    """The state whose base an IMU shows so: the inverse of `shown`."""
    if not effects.imu_errs or seen.base_quat_wxyz is None:
        return seen
    askew, bias = _of(effects, seen.base_quat_wxyz)
    quat = mul(seen.base_quat_wxyz, conj(askew))
    if seen.base_ang_vel_b is None:
        return replace(seen, base_quat_wxyz=quat)
    gyro = rotate(askew, seen.base_ang_vel_b - bias)
    return replace(seen, base_quat_wxyz=quat, base_ang_vel_b=gyro)


def small_turn(angles: np.ndarray) -> np.ndarray:
    """(..., 4) quaternions of small turns about x, y and z, rad."""
    return normalise(np.concatenate([np.ones_like(angles[..., :1]), angles / 2], axis=-1))


def _of(effects: Effects, quat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn between base and IMU, and what its gyro shows at rest, for (n, ..., 4) orientations."""
    between = quat.ndim - 2  # axes of time, over which neither changes
    tilt = np.stack(np.broadcast_arrays(effects.imu_roll, effects.imu_pitch, 0.0), axis=-1)
    bias = np.stack(np.broadcast_arrays(effects.gyro_x, effects.gyro_y, effects.gyro_z), axis=-1)
    each = [
        array.reshape(-1, *[1] * between, 3) if array.ndim == 2 else array for array in (tilt, bias)
    ]
    return small_turn(each[0]), each[1]
