"""How falls begin: the first limit that was reached before the robot lost its balance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gapless.evaluation.episode_scores import NEAR_LIMIT, Motions
from gapless.evaluation.policy_episodes import Episodes, tilt

UPRIGHT = 0.25
"""Tilt below which a robot still stands well, rad."""
BEFORE = 0.6
"""Seconds before it no longer does, in which its fall began."""
PUSHED = 2.0
"""Seconds within which a push is blamed."""
HELD = 3
"""Steps for which a limit must be reached."""
SLIDES = 0.4
"""Speed of a standing foot that slides, m/s."""


@dataclass(frozen=True)
class Fall:
    """One fall.

    Attributes:
        episode: its number.
        seconds: into the episode.
        cause: what reached its limit first, for people.
        pushed: whether a push came just before.
    """

    episode: int
    seconds: float
    cause: str
    pushed: bool


def find_falls(episodes: Episodes) -> list[Fall]:
    """Every fall, in the order of the episodes."""
    if episodes.survived.all():
        return []
    motions = Motions(episodes)
    effort = motions.robot.joints.effort
    limit = np.where((effort > 0) & np.isfinite(effort), NEAR_LIMIT * effort, np.inf)
    full = np.abs(episodes.torque) >= limit
    speed, stands = motions.feet
    slides = stands & (speed > SLIDES)
    lean = tilt(motions.after)
    rows = np.flatnonzero(~episodes.survived)
    return [_fall(episodes, int(row), full[row], slides[row], lean[row]) for row in rows]


def _fall(
    episodes: Episodes, row: int, full: np.ndarray, slides: np.ndarray, lean: np.ndarray
) -> Fall:
    end, rate = int(episodes.fell[row]), episodes.rate
    upright = np.flatnonzero(lean[:end] < UPRIGHT)
    onset = int(upright[-1]) if len(upright) else 0
    first = max(0, onset - round(BEFORE * rate))
    pushed = bool(episodes.pushes[row, max(0, end - round(PUSHED * rate)) : end].any())
    if episodes.diverged[row]:
        return Fall(row, end / rate, "the simulation broke down", pushed)
    found = {
        **_begins(
            full[first:end], [f"{j} at its torque limit" for j in episodes.robot.joints.names]
        ),
        **_begins(slides[first:end], [f"{f} slipping" for f in episodes.robot.feet]),
    }
    cause = min(found, key=lambda name: found[name]) if found else "no limit reached"
    return Fall(row, end / rate, cause, pushed)


def _begins(reached: np.ndarray, names: list[str]) -> dict[str, int]:
    """Name -> step from which a limit is held, for those that are."""
    if len(reached) < HELD:
        return {}
    held = np.logical_and.reduce([reached[k : len(reached) - HELD + 1 + k] for k in range(HELD)])
    return {
        name: int(column.argmax())
        for name, column in zip(names, held.T, strict=True)
        if column.any()
    }


def describe_falls(falls: list[Fall]) -> str:
    """The most common beginning, in words."""
    if not falls:
        return "nothing fell"
    cause, count = Counter(fall.cause for fall in falls).most_common(1)[0]
    pushed = [fall.pushed for fall in falls if fall.cause == cause]
    after = " after a push" if sum(pushed) > len(pushed) / 2 else ""
    share = "" if count == len(falls) else f" ({count} of {len(falls)})"
    return f"falls begin with {cause}{after}{share}"
