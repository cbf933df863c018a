"""Which way is up, seen from the base: from the feet, and from an IMU that logs no orientation.

What is slow comes from the accelerometer where there is one, else from the feet; what is fast from
the gyro where there is one, else from the feet.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from gapless.recordings.recording import Recording

SLOW = 0.5
"""Time constant that divides slow from fast, s."""
FORGETS = 1.0
"""Time constant with which an integrated gyro follows what is slow, s."""
GRAVITY, STEADY = 9.81, 1.5
"""m/s²: samples whose acceleration is within STEADY of GRAVITY show where up is."""


def complemented(feet: np.ndarray, recording: Recording) -> np.ndarray:
    """(T, 3) up from the feet, made better by an accelerometer and a gyro where they were logged.

    Args:
        feet: (T, 3) unit vectors: up according to the feet, seen from the base.
        recording: whose channels are used.
    """
    slow = up_felt(recording)
    slow = feet if slow is None else slow
    gyro = recording.channels.get("imu_gyro")
    fast = feet if gyro is None else _turned(slow, np.nan_to_num(gyro), recording.rate)
    if slow is feet and fast is feet:
        return feet
    return _unit(fast + _smooth(slow - fast, recording.rate))


def up_felt(recording: Recording) -> np.ndarray | None:
    """(T, 3) up according to the accelerometer, filled where the base was not steady."""
    acceleration = recording.channels.get("imu_acc")
    if acceleration is None:
        return None
    size = np.linalg.norm(acceleration, axis=1)
    steady = np.flatnonzero(np.abs(size - GRAVITY) < STEADY)
    if len(steady) < len(size) / 2:
        return None
    up = acceleration[steady] / size[steady, None]
    samples = np.arange(len(size))
    return _unit(np.stack([np.interp(samples, steady, up[:, k]) for k in range(3)], axis=1))


def _turned(slow: np.ndarray, gyro: np.ndarray, rate: float) -> np.ndarray:
    """(T, 3) up carried along by the gyro, drawn towards what is slow."""
    up, pull = slow.copy(), 1 / (FORGETS * rate)
    middle = 0.5 * (gyro[:-1] + gyro[1:]) / rate
    for t, turn in enumerate(middle):
        carried = up[t] - np.cross(turn, up[t])
        up[t + 1] = carried + pull * (slow[t + 1] - carried)
        up[t + 1] /= np.linalg.norm(up[t + 1])
    return up


def _smooth(values: np.ndarray, rate: float) -> np.ndarray:
    return gaussian_filter1d(values, SLOW * rate, axis=0, mode="nearest")


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
