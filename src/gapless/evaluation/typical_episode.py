"""The typical episode of a tracker, beside its motion: what people look at to believe a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.evaluation.motion_placement import MotionPlacement
from gapless.evaluation.policy_episodes import Episodes
from gapless.evaluation.tracking_errors import body_distances
from gapless.measurement.side_by_side import SideBySide, Track
from gapless.motions.motion import Motion

REFERENCE, POLICY = "reference", "policy"
"""The tracks of such a clip."""


def median_episode(errors: Sequence[float | None]) -> int:
    """The episode in the middle, by an error of each; the lower of two, the first of none."""
    known = sorted((error, row) for row, error in enumerate(errors) if error is not None)
    return known[(len(known) - 1) // 2][1] if known else 0


def typical_episode(
    episodes: Episodes, motion: Motion, errors: Sequence[float | None]
) -> SideBySide:
    """The median episode up to its fall, seen from where the motion starts.

    Policies that started elsewhere can so be laid over each other, and over one reference.

    Args:
        episodes: in which a policy followed the motion.
        motion: what was followed.
        errors: of each episode, by which the median is taken.
    """
    row = median_episode(errors)
    one = _only(episodes, row)
    length = 1 + min(int(one.fell[0] - one.diverged[0]), one.steps)
    followed = motion.resampled(one.rate)
    target = np.full((length, one.targets.shape[-1]), np.nan)
    target[: length - 1] = one.targets[0, : length - 1]
    fell = "" if one.survived[0] else f", fell after {one.fell[0] / one.rate:.1f} s"
    return SideBySide(
        name=f"episode {row + 1} of {len(episodes.fell)}{fell}",
        unit=None,
        payload=None,
        joints=one.robot.joints.names,
        rate=one.rate,
        horizon="full",
        target=target,
        tracks={REFERENCE: _wanted(followed, one, length), POLICY: _got(followed, one, length)},
    )


def _only(episodes: Episodes, row: int) -> Episodes:
    """The same with one episode."""
    rows = slice(row, row + 1)
    arrays = {
        name: getattr(episodes, name)[rows]
        for name in ("states", "readings", "targets", "torque", "pushes", "fell", "diverged")
    }
    return replace(episodes, **arrays, commands={k: v[rows] for k, v in episodes.commands.items()})


def _wanted(motion: Motion, one: Episodes, length: int) -> Track:
    rows = np.minimum(np.arange(length), len(motion) - 1)
    base = motion.base_pos, motion.base_quat_wxyz
    return Track(motion.targets(one.robot)[rows], *(None if b is None else b[rows] for b in base))


def _got(motion: Motion, one: Episodes, length: int) -> Track:
    states = one.states
    assert states.base_pos is not None and states.base_quat_wxyz is not None
    base = states.base_pos[0, :length], states.base_quat_wxyz[0, :length]
    pos, quat = MotionPlacement.of(motion, one).returned(0, *base)
    return Track(states.q[0, :length], pos, quat, body_distances(one, motion)[0, :length])
