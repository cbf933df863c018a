"""When a person's feet stand."""

from __future__ import annotations

import numpy as np

from gapless.motions.retargeting.person import SIDES, Person

LOW, SLOW = 0.04, 0.1
"""A foot stands where its ankle is at most so far above where it stands, m, and so slow, m/s."""
SHORTEST = 0.1
"""Seconds below which a foot does not stand, or does not leave the floor."""


def find_standing(person: Person, level: float) -> np.ndarray:
    """(T, 2) whether the left and the right foot stands.

    Args:
        person: of the robot's size.
        level: height of the ankle of a foot flat on the floor, m.
    """
    found = []
    for side in SIDES:
        ankle = person.at(f"{side}_ankle")
        speed = np.linalg.norm(np.gradient(ankle, axis=0), axis=1) * person.rate
        stands = (ankle[:, 2] < level + LOW) & (speed < SLOW)
        found.append(_steady(_steady(stands, person.rate, of=False), person.rate, of=True))
    return np.stack(found, axis=1)


def stretches(chosen: np.ndarray) -> list[tuple[int, int]]:
    """First frame, and the first after it, of each row of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _steady(stands: np.ndarray, rate: float, of: bool) -> np.ndarray:
    """Stretches of a value that are too short become the other."""
    found = stands.copy()
    for start, stop in stretches(stands == of):
        if stop - start < SHORTEST * rate and start > 0 and stop < len(stands):
            found[start:stop] = not of
    return found
