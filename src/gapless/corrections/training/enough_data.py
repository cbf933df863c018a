"""Which joints there are data enough to correct: all, those that need it most, or none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.errors import DataError
from gapless.measurement import metrics
from gapless.measurement.judge import WINDOWS
from gapless.measurement.replay import Replay, replay
from gapless.recordings.recording import Recording
from gapless.worlds.world import World

SECONDS_A_JOINT = 2.0
"""Least data for each network: of a corrected joint, or of the joints that share it."""

MOVED = 0.05
"""Least travel in some learning motion, rad, of a joint that is corrected where data are few."""


def seconds_of(recordings: Sequence[Recording]) -> float:
    """How long recordings last where they can be used."""
    return sum(int(r.frame_valid.sum()) / r.rate for r in recordings)


def left_out(
    world: World,
    learn: Sequence[Recording],
    joints: Sequence[str],
    numbers: Sequence[int],
    seconds: float,
    horizon: float,
) -> dict[str, str]:
    """Joints that data are too few for, and why it is these.

    Args:
        world: that is to be corrected.
        learn: what is learned from.
        joints: that are to be corrected.
        numbers: of the network of each.
        seconds: of data that can be counted on.
        horizon: seconds of the replays that say how wrong each joint is.

    Raises:
        DataError: there is no joint that can be corrected.
    """
    enough = int(seconds / SECONDS_A_JOINT + 1e-9)
    if len(set(numbers)) <= enough:
        return {}
    error, travel = _errors_and_travels(world, learn, horizon)
    at = [world.robot.joints.index(j) for j in joints]
    moved = {j: n for j, n, c in zip(joints, numbers, at, strict=True) if travel[c] >= MOVED}
    if not (enough and moved):
        raise _too_few(seconds, len(joints), len(set(numbers)))
    wrong = {j: float(error[c]) for j, c in zip(joints, at, strict=True)}
    kept = _neediest(moved, wrong, enough)
    still = {
        j: f"it moved {travel[c]:.3f} rad in the learning motions, expected {MOVED} rad"
        for j, c in zip(joints, at, strict=True)
        if j not in moved
    }
    others = {
        j: f"replay error {wrong[j]:.4f} rad; {seconds:.0f} s are enough for {enough} of "
        f"{len(set(numbers))} networks, and others need them more"
        for j, number in moved.items()
        if number not in kept
    }
    return {j: why for j in joints if (why := still.get(j) or others.get(j))}


def _neediest(moved: dict[str, int], wrong: dict[str, float], enough: int) -> list[int]:
    """Numbers of the networks whose joints have the largest errors, taken together."""
    need = {n: sum(wrong[j] for j in moved if moved[j] == n) for n in moved.values()}
    return sorted(need, key=lambda number: -need[number])[:enough]


def _too_few(seconds: float, joints: int, networks: int) -> DataError:
    shared = f" with {networks} networks" if networks < joints else ""
    return DataError(
        f"{seconds:.0f} s of recordings are too few to correct {joints} joints{shared}: expected "
        f"at least {SECONDS_A_JOINT * networks:.0f} s. Record more, or correct fewer joints "
        "(--joints, e.g. a group such as ankles)"
    )


def _errors_and_travels(
    world: World, learn: Sequence[Recording], horizon: float
) -> tuple[np.ndarray, np.ndarray]:
    """(J,) replay error of each joint, and how far it moved; 0 where it was not recorded."""
    played = replay(list(learn), world, horizon, WINDOWS)
    errors = [metrics.replay_error(p.error[:, 1:], p.lost[:, 1:]) for p in played]
    known = np.isfinite(errors)
    total = np.where(known, errors, 0.0).sum(axis=0)
    return total / np.maximum(known.sum(axis=0), 1), np.max([_travel(p) for p in played], axis=0)


def _travel(played: Replay) -> np.ndarray:
    """(J,) from the lowest to the highest position, rad."""
    high = np.where(played.usable, played.real.q, -np.inf).max(axis=(0, 1))
    low = np.where(played.usable, played.real.q, np.inf).min(axis=(0, 1))
    return np.maximum(high - low, 0.0)
