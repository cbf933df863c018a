"""Recordings of an SO-101 that is sent to waypoints, some of them below a table."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gapless.recordings.recording import Recording
from gapless.robots import Floor, Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

TABLE = Floor(height=-0.05, friction=0.3).tilted(0.03, -0.02)
STEP = 0.004
"""Physics step, s."""
LOCKED = ["wrist_roll", "gripper"]
LOW = {"shoulder_pan": 0.0, "shoulder_lift": 0.25, "elbow_flex": 0.5, "wrist_flex": 0.2}
REACH = np.array([0.6, 0.3, 0.35, 0.4])
"""How far waypoints are from LOW, rad; half of them are low enough to touch."""


def arm() -> Robot:
    """Four joints of an SO-101, and no table."""
    return Robot.load("so101", lock=LOCKED)


def waypoints(seed: int, count: int = 10, rate: int = 50, raised: float = 0.0) -> np.ndarray:
    """(T, 4) moves of 0.6 s between rests of 0.6 s; `raised` lifts the shoulder, rad."""
    middle = np.array(list(LOW.values())) - np.array([0.0, raised, 0.0, 0.0])
    places = middle + np.random.default_rng(seed).uniform(-1, 1, (count, 4)) * REACH
    places = np.vstack([middle - [0.0, 0.6, 0.0, 0.0], places])
    steps = round(0.6 * rate)
    ease = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, steps))[:, None]
    parts = [np.tile(places[0], (steps, 1))]
    for a, b in pairwise(places):
        parts += [a + ease * (b - a), np.tile(b, (steps, 1))]
    return np.concatenate(parts)


def recorded(
    robot: Robot, names: list[str], *, raised: float = 0.0, noise: float = 3e-4, first: int = 0
) -> list[Recording]:
    """What noisy encoders saw of a robot on its way; other motions from another `first` on."""
    world, found = MujocoWorld(robot, physics_step=STEP), []
    for seed, name in enumerate(names, first):
        motion = waypoints(seed, raised=raised)
        start = replace(world.home(), q=motion[:1])
        clean = record(world, motion, name, start=start)
        q = clean.q + np.random.default_rng(seed).normal(0, noise, clean.q.shape)
        found.append(replace(clean, q=q, channels={}))
    return found
