"""Recordings of a small robot whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.motions.excitation import multisine
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld
from gapless.worlds.record import record

TRUTH = {"kp": 1.3, "damping": 0.7, "frictionloss": 3.0}
"""Factors by which the hidden robot's figures differ."""

STEP = 0.005
LOCKED = ["shoulder_pan", "wrist_flex", "wrist_roll", "gripper"]
"""Joints of an SO-101 beside its shoulder lift and its elbow."""


def nominal_pair() -> Robot:
    """Shoulder lift and elbow of an SO-101."""
    return Robot.load("so101", lock=LOCKED)


def recorded(
    robot: Robot,
    names: list[str],
    *,
    noise: float = 2e-4,
    seconds: float = 6.0,
    first: int = 0,
    effects: Effects | None = None,
    **conditions: object,
) -> list[Recording]:
    """Motions of a robot as noisy encoders saw them; other motions from another `first` seed on."""
    world = MujocoWorld(robot, effects=effects, physics_step=STEP)
    found = []
    for seed, name in enumerate(names, first):
        motion = multisine(robot, seconds, 50, seed=seed)
        clean = record(world, motion, name, start=world.home())
        q = clean.q + np.random.default_rng(seed).normal(0, noise, clean.q.shape)
        told = replace(clean.conditions, **conditions)
        found.append(replace(clean, q=q, channels={}, conditions=told))
    return found
