"""A motion of a robot on its feet that hardly moves, for trackers that need a base."""

from __future__ import annotations

import numpy as np

from gapless.motions import Motion
from gapless.robots import Robot


def standing_motion(robot: Robot, seconds: float = 1.0, name: str = "sways") -> Motion:
    """Every joint sways a little around the default pose; the base rises and turns a little."""
    time = np.arange(round(seconds * robot.rate) + 1) / robot.rate
    wave = np.sin(2 * np.pi * time / 2.0)
    phase = np.linspace(0, 2, len(robot.joints))
    q = robot.joints.default + 0.1 * np.sin(2 * np.pi * time[:, None] / 2.0 + phase)
    place = np.stack([0.02 * wave, 0 * wave, robot.standing_height + 0.01 * wave], axis=1)
    half = 0.05 * wave
    quat = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    return Motion(name, robot.joints.names, robot.rate, q, place, quat)
