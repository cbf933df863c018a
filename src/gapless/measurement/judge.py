"""The judge of a calibration: replay error on recordings that no fit saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.errors import DataError
from gapless.measurement.replay import replay
from gapless.measurement.spans import Horizon
from gapless.recordings.recording import Recording
from gapless.worlds.world import World

WINDOWS = 64
"""Replays of each recording at most."""


def replay_rmse(recordings: Sequence[Recording], world: World, horizon: Horizon) -> float:
    """Root mean square joint error of replays over a horizon, all readings alike, rad.

    After a divergence a reading counts as 1 rad off: a robot that flies apart is no better.
    """
    world = world.at_rate(recordings[0].rate)
    total, count = 0.0, 0
    for played in replay(recordings, world, horizon, WINDOWS):
        inside = np.arange(played.real.q.shape[1]) <= played.steps[:, None]
        lost = inside & ~played.sim.valid
        joints = np.isfinite(played.error).any(axis=(0, 1)).sum()
        error = played.error[:, 1:]
        total += float(np.nansum(error**2)) + float(lost[:, 1:].sum() * joints)
        count += int(np.isfinite(error).sum() + lost[:, 1:].sum() * joints)
    if not count:
        raise DataError(f"no held-out recording has an unbroken stretch of {horizon} s")
    return float(np.sqrt(total / count))


def without_loads(recordings: Sequence[Recording]) -> list[Recording]:
    """The recordings with their stated loads left to the robot, whose load was identified."""
    return [replace(r, conditions=replace(r.conditions, payloads=None)) for r in recordings]
