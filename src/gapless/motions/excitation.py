"""Motions that move every joint, inside its limits."""

from __future__ import annotations

import numpy as np

from gapless.robots import Robot


def multisine(
    robot: Robot,
    seconds: float,
    rate: float,
    *,
    seed: int,
    amplitude: float = 0.4,
    band: tuple[float, float] = (0.1, 0.8),
    tones: int = 3,
) -> np.ndarray:
    """(T, J) targets: a sum of sines about the default pose, starting and ending there.

    Args:
        robot: gives the pose and the limits.
        seconds: length.
        rate: samples per second.
        seed: of the random frequencies and phases.
        amplitude: share of the room to the nearer joint limit (at most 1 rad) that may be used.
        band: lowest and highest frequency, Hz.
        tones: sines in each joint's sum.
    """
    joints, rng = robot.joints, np.random.default_rng(seed)
    time = np.arange(round(seconds * rate))[:, None, None] / rate
    shape = (tones, len(joints.names))
    waves = np.sin(2 * np.pi * (rng.uniform(*band, shape) * time + rng.uniform(0, 1, shape)))
    room = np.minimum(joints.upper - joints.default, joints.default - joints.lower)
    # One second in, one second out: a robot is not thrown into the middle of a sine.
    fade = np.clip(np.minimum(time, time[::-1]), 0, 1)[:, 0]
    return joints.default + fade * amplitude * np.clip(room, 0, 1) * waves.mean(axis=1)
