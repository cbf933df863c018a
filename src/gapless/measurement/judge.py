"""The judge: one error by which everything is chosen and reported, divergence included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.errors import DataError
from gapless.measurement import metrics
from gapless.measurement.replay import replay
from gapless.measurement.spans import Horizon
from gapless.recordings.recording import Recording, Recordings
from gapless.verdict import Verdict
from gapless.worlds.world import World

WINDOWS = 64
"""Replays of each recording at most."""


def replay_error(
    recordings: Recordings, world: World, horizon: Horizon, windows: int = WINDOWS
) -> float:
    """Mean |Δq| of replays over a horizon, rad: of each recording's joints, then of recordings.

    Readings after a divergence count as `metrics.LOST`: a simulation that flies apart is no better
    for having few readings left. Without a divergence this is the MPJAE of `gapless measure`.
    """
    clips = list(recordings)
    world = world.at_rate(clips[0].rate)
    found = [
        np.nanmean(metrics.replay_error(played.error[:, 1:], played.lost[:, 1:]))
        for played in replay(clips, world, horizon, windows)
    ]
    if not np.isfinite(found).any():
        raise DataError(f"no recording to judge by has an unbroken stretch of {horizon} s")
    return float(np.nanmean(found))


def judged(
    recordings: Recordings, before: World, after: World, horizon: Horizon, motions: Sequence[str]
) -> Verdict | None:
    """The error in two worlds; None where there are no recordings."""
    if not len(recordings):
        return None
    errors = (replay_error(recordings, world, horizon) for world in (before, after))
    return Verdict(*errors, horizon=horizon, motions=tuple(motions))


def without_loads(recordings: Recordings) -> list[Recording]:
    """The recordings with their stated loads left to the robot, whose load was identified."""
    return [replace(r, conditions=replace(r.conditions, payloads=None)) for r in recordings]
