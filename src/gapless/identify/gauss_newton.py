"""Gauss-Newton with box bounds: a few linearisations, each one batch of threaded replays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import mujoco
import numpy as np

from gapless.errors import SimulationError
from gapless.identify.problem import Linear, Problem

DAMPINGS = (0.1, 1.0, 10.0, 100.0)
"""Each step is tried with these multiples of the last good damping, all in one batch."""


@dataclass
class Progress:
    """Where an optimiser is: what a stopped run needs to go on.

    Attributes:
        z: (P,) the best point so far.
        cost: its cost.
        error: its root mean square replay error, rad or m.
        iteration: how many are done.
        history: error after each iteration.
        extra: what else this optimiser needs to go on, plain JSON.
    """

    z: np.ndarray
    cost: float
    error: float
    iteration: int = 0
    history: list[float] = field(default_factory=list)
    extra: dict = field(default_factory=dict)


Report = Callable[[Progress], None]


def gauss_newton(
    problem: Problem,
    start: np.ndarray,
    *,
    iterations: int = 30,
    tolerance: float = 1e-3,
    own: bool = False,
    report: Report | None = None,
) -> Progress:
    """Minimise a problem.

    Args:
        problem: what to minimise.
        start: (P,) where to begin.
        iterations: at most.
        tolerance: stop when a step lowers the cost by less than this share of it.
        own: use the quick slopes of `Problem.linearised`.
        report: told after each iteration.
    """
    residual = problem.residuals(start[None])
    here = Progress(start, float(problem.costs_of(start[None], residual)[0]), 0.0)
    here.error, damping = problem.rms(residual[0]), 1e-3
    if not np.isfinite(here.cost):
        raise SimulationError("the nominal robot diverges on these recordings; check the robot")
    residual = residual[0]
    for _ in range(iterations):
        linear = problem.linearised(here.z, residual, own)
        points = np.array([_step(problem, linear, damping * m) for m in DAMPINGS])
        found = problem.residuals(points)
        costs = problem.costs_of(points, found)
        best = int(np.argmin(costs))
        gain = here.cost - costs[best]
        here.iteration += 1
        if not gain > 0:
            damping *= 100 * DAMPINGS[-1]
            if damping > 1e9:
                break
            continue
        residual, damping = found[best], max(damping * DAMPINGS[best], 1e-7)
        done = gain < tolerance * here.cost
        here.z, here.cost, here.error = points[best], float(costs[best]), problem.rms(residual)
        here.history.append(here.error)
        if report:
            report(here)
        if done:
            break
    return here


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
    size = 1 / np.sqrt(np.diag(hessian))  # the solver wants numbers of like size
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
