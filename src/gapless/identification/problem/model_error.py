"""What a fit's residuals say of errors of the model, which more data do not average out.

Residuals are orthogonal to the slopes of what was fitted, so that a model error along them is not
seen: it has moved the parameters. But it is seen along directions that are like those slopes and
that no parameter explains: the same slopes, counted more where the joint is slow, loaded, or moves
one way. What the windows have in common there, beyond what windows that err on their own would
have by chance, is taken as the usual size of the model error along the slopes themselves.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.stats import t as student

from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import Problem

SLOW = 0.3
"""Speed, in the joint's usual one, below which friction is another than in motion."""

CHANCE = 0.5
"""What windows share counts above this many times its usual spread by chance."""

DEPENDENT = 1e-3
"""Directions whose share of the largest one is below this are combinations of others."""


def model_error(problem: Problem, linear: Linear) -> np.ndarray:
    """(P,) variance of the residuals along each parameter's slope, in units of the noise.

    White residuals of unit size give 1 each.
    """
    shapes = _shapes(problem, linear.residual.shape[1])
    size, groups = np.ones(len(problem)), _together(problem)
    slope = linear.slope.reshape(-1, len(problem))
    inverse = np.linalg.pinv(linear.information, rcond=1e-10, hermitian=True)
    weighted = linear.weight.reshape(-1, 1) * slope
    for group in groups:
        near = np.concatenate([linear.slope[..., group] * s[..., None] for s in shapes], axis=-1)
        near = near.reshape(len(slope), -1)
        near -= slope @ (inverse @ (weighted.T @ near))
        size[group] = _shared(near, linear)
    return size * _few(len(problem.windows))


def _together(problem: Problem) -> list[list[int]]:
    """Parameters of one joint share its errors; others stand alone."""
    groups: dict[str, list[int]] = {}
    for i, p in enumerate(problem.parameters):
        groups.setdefault(p.joint or p.name, []).append(i)
    return list(groups.values())


def _shapes(problem: Problem, readings: int) -> list[np.ndarray]:
    """(n, R) how far a joint moves one way, is slow, is pulled one way, is loaded."""
    windows = problem.windows
    q = windows.states.q
    speed = uniform_filter1d(np.diff(q, axis=1), 5, axis=1, mode="nearest")
    pull = windows.held - q[:, :-1]
    speed, pull = (x / np.maximum(np.sqrt((x**2).mean((0, 1))), 1e-9) for x in (speed, pull))
    shapes = [np.tanh(3 * speed), np.exp(-np.abs(speed) / SLOW), np.tanh(3 * pull), np.abs(pull)]
    shapes = [shapes[0], _centred(shapes[1]), shapes[2], _centred(shapes[3])]
    count, steps, joints = q.shape[0], windows.steps, q.shape[2]
    if readings != steps * joints:  # readings of bodies: each moves with many joints
        shapes = [np.repeat(s.mean(-1, keepdims=True), readings // steps, -1) for s in shapes]
    return [s.reshape(count, -1) for s in shapes]


def _centred(shape: np.ndarray) -> np.ndarray:
    return shape - shape.mean((0, 1))


def _shared(near: np.ndarray, linear: Linear) -> float:
    """The variance along some directions: of windows on their own, and what they share beyond."""
    weight = linear.weight.reshape(-1, 1)
    scale = np.sqrt(np.maximum((weight * near**2).sum(0), 1e-300))
    near = near[:, scale > 1e-9] / scale[scale > 1e-9]
    if not near.size:
        return 0.0
    size, ways = np.linalg.eigh(near.T @ (weight * near))
    told = size > DEPENDENT * size.max()
    near = near @ (ways[:, told] / np.sqrt(size[told]))
    windows = near.reshape(len(linear.residual), -1, near.shape[1])
    own = ((linear.weight * linear.residual)[:, None] @ windows)[:, 0]  # (n, K) of each window
    alone = float((own**2).sum())
    common = float((own.sum(axis=0) ** 2).sum()) - alone
    spread = np.linalg.eigvalsh(own.T @ own)
    spread = alone * np.sqrt(2 * (spread**2).sum()) / max(spread.sum(), 1e-300)
    return alone / near.shape[1] + (common if common > CHANCE * spread else 0.0)


def _few(windows: int) -> float:
    """How much wider the variance of few windows must be taken (Student's t)."""
    return float(student.ppf(0.975, max(windows - 1, 1)) / 1.96) ** 2
