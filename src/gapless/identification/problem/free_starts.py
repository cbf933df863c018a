"""Starts that are only roughly known: what a wrong start explains does not count as an error.

A start is read from noisy encoders, its velocity from their differences; both grow into all that
follows. How an error of each start spreads over its window is found by finite differences; the
residuals are then filtered as if every start were unknown within the error of reading it: the
marginal likelihood of the parameters, at the price of two replays a joint. A base that was
estimated from the feet errs with the joints: it moves along, so that no foot is lifted off the
floor or pressed into it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.measurement.still_feet import base_followed

if TYPE_CHECKING:
    from gapless.identification.problem.problem import Problem
    from gapless.measurement.windows import Windows

POSITION_ERROR, VELOCITY_ERROR = 1e-3, 0.06
"""Expected errors of a start read from encoders, rad and rad/s."""

STEP = 0.5
"""How far a start is moved for finite differences, in these errors."""


@dataclass(frozen=True)
class StartFilter:
    """What start errors do to each window.

    Attributes:
        ways: (n, R, 2J) orthonormal directions of the residuals.
        size: (n, 2J) how far an expected start error moves each, rad or m.
    """

    ways: np.ndarray
    size: np.ndarray

    def __call__(self, residuals: np.ndarray, noise: float) -> np.ndarray:
        """(k, n, R) residuals, made white again for noise plus start errors."""
        share = 1 - 1 / np.sqrt(1 + (self.size / noise) ** 2)
        along = (residuals.swapaxes(0, 1) @ self.ways) * share[:, None]
        return residuals - (along @ self.ways.swapaxes(1, 2)).swapaxes(0, 1)


def start_filter(problem: Problem, z: np.ndarray) -> StartFilter:
    """How start errors spread at a point."""
    still = problem.residuals(z[None])[0]
    joints = problem.windows.start.q.shape[1]
    slopes = [
        (problem.on(_moved(problem, column)).residuals(z[None])[0] - still) / STEP
        for column in range(2 * joints)
    ]
    slope = np.stack(slopes, axis=-1) * problem.noise
    ways, size, _ = np.linalg.svd(slope, full_matrices=False)
    return StartFilter(ways, size)


def _moved(problem: Problem, column: int) -> Windows:
    """The windows with one start figure of all of them moved, an estimated base along with it."""
    windows = problem.windows
    q, dq = windows.start.q.copy(), windows.start.dq.copy()
    joints = q.shape[1]
    if column < joints:
        q[:, column] += STEP * POSITION_ERROR
    else:
        dq[:, column - joints] += STEP * VELOCITY_ERROR
    start = replace(windows.start, q=q, dq=dq)
    guessed = windows.base_weight == 0
    if start.base_pos is not None and guessed.any():
        start = base_followed(problem.world.robot, windows.start, start, guessed)
    return replace(windows, start=start)
