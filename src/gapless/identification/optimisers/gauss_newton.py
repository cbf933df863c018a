"""Gauss-Newton with box bounds: a few linearisations, each one batch of threaded replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import mujoco
import numpy as np

from gapless.errors import SimulationError
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import Problem

DAMPINGS = (0.1, 1.0, 30.0)
"""Multiples of the last good damping: the boldest first, the others where it gains too little."""

ENOUGH = 0.5
"""Share of what the slopes foretell that the boldest step must gain, or the others are tried."""

AGREEMENT = 0.1
"""Slopes are trusted while steps gain what they foretold, to within this share of it."""


@dataclass
class Iterate:
    """Where an optimiser is.

    Attributes:
        z: (P,) the best point so far.
        cost: its cost.
        error: its root mean square replay error, rad or m.
        iteration: how many are done.
        history: error after each iteration.
        linear: slopes near the best point, where the optimiser formed them.
        fresh: whether they can be trusted there.
    """

    z: np.ndarray
    cost: float
    error: float
    iteration: int = 0
    history: list[float] = field(default_factory=list)
    linear: Linear | None = None
    fresh: bool = False


Report = Callable[[Iterate], None]


def gauss_newton(
    problem: Problem,
    start: np.ndarray,
    *,
    iterations: int = 40,
    tolerance: float = 5e-4,
    refreshes: int = 10,
    own: bool = False,
    linear: Linear | None = None,
    report: Report | None = None,
) -> Iterate:
    """Minimise a problem.

    Slopes cost a replay a parameter, steps one to three; so slopes are carried along from step to
    step, and formed anew when they no longer help.

    Args:
        problem: what to minimise.
        start: (P,) where to begin.
        iterations: at most.
        tolerance: stop when a step with fresh slopes lowers the cost by less than this share.
        refreshes: times the slopes may be formed anew.
        own: use the quick slopes of `Problem.linearised`.
        linear: slopes near the start, where they are known.
        report: told after each iteration.
    """
    residual = problem.residuals(start[None])[0]
    cost = float(problem.costs_of(start[None], residual[None])[0])
    if not np.isfinite(cost):
        raise SimulationError("the replay error at the start is not finite; check the recordings")
    here = Iterate(start, cost, problem.rms(residual))
    damping, trusted = 1e-3, linear is None
    weight = problem.loss.weight
    linear = linear or problem.linearised(start, residual, own)
    linear = linear.moved_to(start, residual, weight(residual**2))
    for _ in range(iterations):
        best = _best_trial(problem, linear, here.cost, damping)
        gain = here.cost - best.cost
        small = not gain > tolerance * here.cost
        if gain > 0:
            trusted = trusted and (small or _came_true(problem, linear, best.z, gain))
            residual, damping = best.residual, max(best.damping, 1e-7)
            linear = linear.moved_to(best.z, residual, weight(residual**2))
            here.z, here.cost, here.error = best.z, best.cost, problem.rms(residual)
            here.iteration += 1
            here.history.append(here.error)
            if report:
                report(here)
        if small and not trusted and not refreshes:
            break
        if small and trusted:
            if gain > 0 or damping > 1:
                break
            damping *= 1e4  # the slopes are right, so the steps were too long
        elif small:
            linear, damping = problem.linearised(here.z, residual, own), 1e-3
            refreshes, trusted = refreshes - 1, True
    here.linear, here.fresh = linear, trusted and not own
    return here


class _Trial(NamedTuple):
    """A step that was tried: where it leads, and how it fares there."""

    z: np.ndarray
    residual: np.ndarray
    cost: float
    damping: float


def _best_trial(problem: Problem, linear: Linear, cost: float, damping: float) -> _Trial:
    """The boldest step, or the best of all where that gains less than it should."""
    bold, *careful = (damping * multiple for multiple in DAMPINGS)
    (first,) = _trials(problem, linear, [bold])
    if cost - first.cost >= ENOUGH * _foretold(problem, linear, first.z):
        return first
    return min([first, *_trials(problem, linear, careful)], key=lambda trial: trial.cost)


def _trials(problem: Problem, linear: Linear, dampings: Sequence[float]) -> list[_Trial]:
    """Steps with these dampings, replayed as one batch."""
    points = np.array([_step(problem, linear, damping) for damping in dampings])
    found = problem.residuals(points)
    costs = problem.costs_of(points, found).tolist()
    return [_Trial(*row) for row in zip(points, found, costs, dampings, strict=True)]


def foretold_share(problem: Problem, linear: Linear) -> float:
    """The share of the cost that the slopes at a point promise to take off."""
    cost = float(problem.costs_of(linear.z[None], linear.residual[None])[0])
    return _foretold(problem, linear, _step(problem, linear, 1e-3)) / max(cost, 1e-12)


def _came_true(problem: Problem, linear: Linear, point: np.ndarray, gain: float) -> bool:
    """Whether a step gained what the slopes foretold."""
    foretold = _foretold(problem, linear, point)
    return abs(gain - foretold) < AGREEMENT * foretold


def _foretold(problem: Problem, linear: Linear, point: np.ndarray) -> float:
    """How much lower the cost of a point is, by the slopes."""
    slope, curvature = problem.prior_slope(linear.z)
    way, gradient = point - linear.z, linear.scores.sum(axis=0) + slope
    return -float(gradient @ way + 0.5 * way @ (linear.information @ way + curvature * way))


def _step(problem: Problem, linear: Linear, damping: float) -> np.ndarray:
    """The best point within the bounds of the damped quadratic model."""
    slope, curvature = problem.prior_slope(linear.z)
    hessian = linear.information + np.diag(curvature)
    gradient = linear.scores.sum(axis=0) + slope
    hessian = hessian + damping * np.diag(np.diag(hessian))
    return linear.z + box_step(
        hessian, gradient, problem.lower - linear.z, problem.upper - linear.z
    )


def box_step(
    hessian: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Minimise ½xᵀHx + gᵀx within a box, by MuJoCo's own solver."""
    n = len(gradient)
    size = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-12))  # the solver wants like numbers
    x, factor = np.zeros(n), np.zeros((n, n + 7))
    index = np.zeros(n, np.int32)
    rank = mujoco.mju_boxQP(
        x,
        factor,
        index,
        np.ascontiguousarray(hessian * np.outer(size, size)),
        gradient * size,
        np.minimum(lower, 0) / size,
        np.maximum(upper, 0) / size,
    )
    return x * size if rank >= 0 else np.clip(-0.1 * gradient * size**2, lower, upper)
