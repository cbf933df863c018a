"""Which way a log counts its joints: signs that differ from the robot's are found by replay.

A joint that turns the other way in the log looks the same to its own controller; only gravity and
the other joints tell. Zeros that differ are the parameter `encoder_bias`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import windows_of
from gapless.parameters import parameters_of
from gapless.recordings.recording import Recording
from gapless.worlds.mujoco_world import MujocoWorld

CLEAR = 0.9
"""A sign is turned only where that lowers the cost to this share, or less."""

SIGNED_CHANNELS = ("dq", "torque", "target_dq", "torque_ff", "sim_q", "sim_dq", "sim_torque")


def with_signs(recording: Recording, signs: Mapping[str, float]) -> Recording:
    """The recording as the robot counts: named joints times their signs."""
    sign = np.array([signs.get(joint, 1.0) for joint in recording.joints])
    if (sign == 1).all():
        return recording
    turned = {
        name: values * sign if name in SIGNED_CHANNELS else values
        for name, values in recording.channels.items()
    }
    target = None if recording.target is None else recording.target * sign
    return replace(recording, q=recording.q * sign, target=target, channels=turned)


def find_signs(
    recordings: Sequence[Recording], world: MujocoWorld, horizon: float = 1.0, windows: int = 24
) -> dict[str, float]:
    """The signs (-1) of joints that the log counts the other way.

    Each joint is turned in turn, with every zero free to move; the turn that explains the
    recordings best is kept, until none helps clearly.

    Args:
        recordings: with commands, in the log's own signs.
        world: the nominal robot.
        horizon: seconds of each window.
        windows: most that are replayed.
    """
    joints = [j for j in recordings[0].joints if j in world.robot.joints.names]
    signs: dict[str, float] = {}
    best = _cost(recordings, world, signs, horizon, windows)
    while True:
        trials = {j: signs | {j: -1.0} for j in joints if j not in signs}
        costs = {
            j: _cost(recordings, world, tried, horizon, windows) for j, tried in trials.items()
        }
        joint = min(costs, key=lambda j: costs[j], default=None)
        if joint is None or costs[joint] > CLEAR * best:
            return signs
        signs, best = trials[joint], costs[joint]


def _cost(
    recordings: Sequence[Recording],
    world: MujocoWorld,
    signs: Mapping[str, float],
    horizon: float,
    limit: int,
) -> float:
    """Mean squared replay error after one step of the zeros, which may be off as well."""
    from gapless.identification.optimisers.gauss_newton import gauss_newton

    turned = [with_signs(r, signs) for r in recordings]
    cut = windows_of(turned, world.robot, horizon, limit)
    problem = Problem(world, parameters_of(world.robot, "encoder_bias"), cut, noise=0.01)
    found = gauss_newton(problem, np.zeros(len(problem)), own=True, iterations=3, tolerance=0.05)
    return found.error**2
