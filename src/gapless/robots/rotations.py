"""Unit quaternions, scalar first (wxyz), vectorised over leading axes."""

from __future__ import annotations

import numpy as np


def normalise(quat_wxyz: np.ndarray) -> np.ndarray:
    """Scale quaternions to length one."""
    quat = np.asarray(quat_wxyz, dtype=float)
    return quat / np.linalg.norm(quat, axis=-1, keepdims=True)


def conj(quat_wxyz: np.ndarray) -> np.ndarray:
    """The inverse rotation of unit quaternions."""
    return np.asarray(quat_wxyz, dtype=float) * np.array([1.0, -1.0, -1.0, -1.0])


def mul(left_wxyz: np.ndarray, right_wxyz: np.ndarray) -> np.ndarray:
    """The rotation that does `right` first, then `left`."""
    a, b, c, d = _parts(left_wxyz)
    e, f, g, h = _parts(right_wxyz)
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ],
        axis=-1,
    )


def rotate(quat_wxyz: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Turn vectors by unit quaternions; leading axes broadcast."""
    w, x, y, z = _parts(quat_wxyz)
    a, b, c = _parts(vector)
    # t = 2 u x v, then v + w t + u x t; written out because np.cross is several times slower.
    t, u, v = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack(
        [a + w * t + y * v - z * u, b + w * u + z * t - x * v, c + w * v + x * u - y * t], axis=-1
    )


def about(axis: np.ndarray, angle: np.ndarray | float) -> np.ndarray:
    """Quaternions (..., 4) of turns by `angle` (...) about one unit axis (3,)."""
    half = 0.5 * np.asarray(angle, dtype=float)
    vector = np.sin(half)[..., None] * np.asarray(axis, dtype=float)
    return np.concatenate([np.cos(half)[..., None], vector], axis=-1)


def angle_between(first_wxyz: np.ndarray, second_wxyz: np.ndarray) -> np.ndarray:
    """Angle in radians, 0 to pi, of the turn from one orientation to the other."""
    turn = mul(conj(first_wxyz), second_wxyz)
    return 2 * np.arctan2(np.linalg.norm(turn[..., 1:], axis=-1), np.abs(turn[..., 0]))


def rotation_vector(quat_wxyz: np.ndarray) -> np.ndarray:
    """(..., 3) axis times angle of unit quaternions, the short way round."""
    quat = np.where(quat_wxyz[..., :1] < 0, -quat_wxyz, quat_wxyz)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, quat[..., :1])
    return quat[..., 1:] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0)


def _parts(array: np.ndarray) -> list[np.ndarray]:
    """The columns of the last axis; np.moveaxis takes four times as long."""
    array = np.asarray(array, dtype=float)
    return [array[..., i] for i in range(array.shape[-1])]
