"""Angular velocity from a sequence of orientations."""

from __future__ import annotations

import numpy as np

from gapless.robots.rotations import conj, mul


def angular_velocity(quat_wxyz: np.ndarray, rate: float) -> np.ndarray:
    """(T, 3) angular velocity in the body's own frame from (T, 4) orientations, rad/s."""
    if len(quat_wxyz) < 2:
        return np.zeros((len(quat_wxyz), 3))
    turn = mul(conj(quat_wxyz[:-1]), quat_wxyz[1:])
    turn = turn * np.where(turn[:, :1] < 0, -1.0, 1.0)
    size = np.linalg.norm(turn[:, 1:], axis=1, keepdims=True)
    angle = 2 * np.arctan2(size, turn[:, :1])
    velocity = turn[:, 1:] * np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0) * rate
    return np.concatenate([velocity, velocity[-1:]])
