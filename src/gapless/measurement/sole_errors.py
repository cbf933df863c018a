"""Soles that never seem level with each other: encoders with wrong zeros, not feet in the air.

A zero that is a degree or two off tilts a sole by as much all the time. What soles have been tilted
against each other by for most of a recording is taken for such an error, half of it for each of
two feet, and which feet stand is judged by what is left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.measurement.stance import PARTING, SeenFeet, parting
from gapless.robots.rotations import conj, rotate

LARGEST = 0.1
"""What wrong zeros may tilt a sole by, rad; a sole that is farther off is really tilted."""
MOST = 0.5
"""Share of a recording in which no foot moves against another, or nothing is known of its soles."""


def without_sole_errors(seen: SeenFeet, rate: float) -> SeenFeet:
    """The same feet, with soles that are level with each other while none of them moves.

    Args:
        seen: the feet as the log's angles have them.
        rate: samples a second.
    """
    rest = _rest(seen, rate)
    if seen.flat.sum() < 2 or rest.mean() < MOST:
        return seen
    mean = seen.up[rest][:, seen.flat].mean(axis=1)
    ups = [_median(rotate(conj(seen.quat[rest, f]), mean)) for f in range(len(seen.feet))]
    pairs = list(zip(seen.feet, ups, strict=True))
    if any(foot.up is not None and np.linalg.norm(foot.up - up) > LARGEST for foot, up in pairs):
        return seen
    feet = (foot if foot.up is None else replace(foot, up=up) for foot, up in pairs)
    return replace(seen, feet=tuple(feet))


def _rest(seen: SeenFeet, rate: float) -> np.ndarray:
    """(T,) True where no two feet move against each other."""
    speeds = list(parting(seen, rate).values())
    still = [speed < PARTING for speed in speeds]
    return np.all(still, axis=0) if still else np.zeros(len(seen.pos), bool)


def _median(directions: np.ndarray) -> np.ndarray:
    middle = np.median(directions, axis=0)
    return middle / np.linalg.norm(middle)
