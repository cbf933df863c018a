"""Inversion: the command of which a robot makes what a policy wants, without training (ASAP V-D).

A correction says that the robot makes target + Δ of a target. So the target is searched for which
that is what the policy asks. There is one near, and it can be found, where Δ changes by less than
the target does; where it changes by more the policy's own target is sent, and that is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.errors import unknown

METHODS = ("fixed-point", "gradient")
DAMPING = 0.8
"""Share of what is missing that a step of the fixed point makes good."""
STEPS = {"fixed-point": 60, "gradient": 10}
"""The most that are made."""
NEAR = 1e-3
"""What may be missing of a target in the end, rad."""
STILL = 1e-6
"""Smallest change of a target that says something about a slope, rad."""
NUDGE, RIDGE = 1e-3, 1e-6
"""Change of a target by which slopes are found, rad; and what keeps a step of theirs small."""

Adding = Callable[[np.ndarray], np.ndarray]
"""(n, J) what a correction adds to (n, J) targets."""


@dataclass
class InversionCount:
    """What came of all inversions so far.

    Attributes:
        solved: commands that were found.
        fell_back: where the policy's own target was sent instead.
        moved: sum of the largest change of each command that was found, rad.
    """

    solved: int = 0
    fell_back: int = 0
    moved: float = 0.0

    def add(self, wanted: np.ndarray, found: np.ndarray, failed: np.ndarray) -> None:
        """Count one step of all environments."""
        self.solved += int((~failed).sum())
        self.fell_back += int(failed.sum())
        self.moved += float(np.abs(found - wanted).max(axis=1).sum())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "solved": self.solved,
            "fell_back": self.fell_back,
            "share_fell_back": self.fell_back / max(1, self.solved + self.fell_back),
            "mean_change_rad": self.moved / max(1, self.solved),
        }


def invert(
    add: Adding, wanted: np.ndarray, columns: np.ndarray, method: str = METHODS[0]
) -> tuple[np.ndarray, np.ndarray]:
    """Targets whose sum with what is added to them is what is wanted.

    Args:
        add: what the robot adds to targets, as a correction says.
        wanted: (n, J) rad.
        columns: of the joints that are corrected.
        method: fixed-point, or gradient (of the squared difference, by steps of Gauss and Newton).

    Returns:
        (n, J) targets, and (n,) True where there is none: there they are what was wanted.
    """
    if method not in METHODS:
        raise unknown("way to invert a correction", method, METHODS)
    stepped = _fixed_point if method == METHODS[0] else _gradient
    now, given, failed = wanted, add(wanted), np.zeros(len(wanted), bool)
    for _ in range(STEPS[method]):
        left = wanted - now - given
        going = ~failed & ~(_size(left) <= NEAR)
        if not going.any():
            break
        after, new, steep = stepped(add, now, given, left, columns)
        failed |= going & steep
        rows = (going & ~steep)[:, None]
        now, given = np.where(rows, after, now), np.where(rows, new, given)
    failed |= ~(_size(wanted - now - given) <= NEAR)
    return np.where(failed[:, None], wanted, now), failed


Stepped = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Targets, what is added to them, and where that changed by more than they did."""


def _fixed_point(
    add: Adding, now: np.ndarray, given: np.ndarray, left: np.ndarray, columns: np.ndarray
) -> Stepped:
    del columns
    after = now + DAMPING * left
    new = add(after)
    moved = _size(after - now)
    return after, new, ~(_size(new - given) < moved) & (moved > STILL)


def _gradient(
    add: Adding, now: np.ndarray, given: np.ndarray, left: np.ndarray, columns: np.ndarray
) -> Stepped:
    slopes = np.stack([_slope(add, now, given, k, columns) for k in columns], axis=-1)
    steep = ~(np.abs(slopes).sum(axis=-1).max(axis=-1) < 1)
    whole = np.where(steep[:, None, None], 0.0, slopes) + np.eye(len(columns))
    turned = np.swapaxes(whole, -1, -2)
    square = turned @ whole + RIDGE * np.eye(len(columns))
    step = np.linalg.solve(square, turned @ left[:, columns, None])[..., 0]
    after = now.copy()
    after[:, columns] += step
    return after, add(after), steep


def _slope(
    add: Adding, now: np.ndarray, given: np.ndarray, column: int, columns: np.ndarray
) -> np.ndarray:
    """(n, K) how what is added changes with the target of one joint."""
    nudged = now.copy()
    nudged[:, column] += NUDGE
    return (add(nudged) - given)[:, columns] / NUDGE


def _size(change: np.ndarray) -> np.ndarray:
    """(n,) largest change of any joint, rad."""
    return np.abs(change).max(axis=1)
