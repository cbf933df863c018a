"""ASAP's identification: a few levels of each figure, tried one figure after another.

The whole product of its grid is 3^50 robots; coordinate descent visits a few hundred of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gapless.errors import GaplessError, SimulationError, unknown
from gapless.identification.optimisers.gauss_newton import Iterate, Report
from gapless.identification.problem.problem import Problem
from gapless.parameters import KINDS, Parameter

STEPS = {"com_x": 0.02, "com_y": 0.02, "com_z": 0.02, "mass": 0.05, "kp": 0.05, "kd": 0.05}
"""Between two levels of ASAP's grid (its Table VII): metres; shares of the prior for `SHARES`."""

SHARES = ("mass", "kp", "kd")
"""Kinds whose step is a share of the prior."""

LEVELS = np.arange(-1.0, 2.0)
OTHER = 0.25
"""Step of all other kinds, as a share of the prior std."""


def grid(
    problem: Problem,
    start: np.ndarray,
    *,
    steps: Mapping[str, float] | None = None,
    sweeps: int = 3,
    widen: bool = False,
    report: Report | None = None,
) -> Iterate:
    """Minimise a problem.

    Args:
        problem: what to minimise.
        start: (P,) where to begin.
        steps: kind -> step between its levels, where it differs from `STEPS`.
        sweeps: at most; each visits every parameter once.
        widen: put the levels of a sweep around the best point so far, not around the prior.
        report: told after each sweep.
    """
    step = _steps(problem, steps or {})
    here = Iterate(np.clip(start, problem.lower, problem.upper), np.inf, np.inf)
    _try(problem, here, here.z[None])
    if not np.isfinite(here.cost):
        raise SimulationError("the replay error at the start is not finite; check the recordings")
    for _ in range(sweeps):
        before = here.cost
        centre = problem.values(here.z if widen else np.zeros(len(problem)))
        for i in range(len(problem)):
            _try(problem, here, _levels(problem, here.z, i, centre[i] + step[i] * LEVELS))
        here.iteration += 1
        here.history.append(here.error)
        if report:
            report(here)
        if here.cost == before:
            break
    return here


def _try(problem: Problem, here: Iterate, points: np.ndarray) -> None:
    """Move to the best of (k, P) points, if it is better than where we are."""
    if not len(points):
        return
    residuals = problem.residuals(points)
    costs = problem.costs_of(points, residuals)
    best = int(np.argmin(np.where(np.isfinite(costs), costs, np.inf)))
    if costs[best] < here.cost:
        here.z, here.cost = points[best], float(costs[best])
        here.error = problem.rms(residuals[best])


def _levels(problem: Problem, z: np.ndarray, i: int, values: np.ndarray) -> np.ndarray:
    """The point with one parameter at each of these values, less the one it is at."""
    parameter = problem.parameters[i]
    values = np.unique(np.clip(values, parameter.lower, parameter.upper))
    levels = np.array([parameter.z_of(value) for value in values])
    levels = levels[~np.isclose(levels, z[i])]
    points = np.tile(z, (len(levels), 1))
    points[:, i] = levels
    return points


def _steps(problem: Problem, given: Mapping[str, float]) -> np.ndarray:
    """(P,) steps in the units of the values."""
    for kind, size in given.items():
        if kind not in KINDS:
            raise unknown("parameter", kind, KINDS)
        if not 0 < size < np.inf:
            raise GaplessError(f"step of {kind} is {size}; expected a number above 0")
    return np.array([_step(p, STEPS | dict(given)) for p in problem.parameters])


def _step(parameter: Parameter, steps: Mapping[str, float]) -> float:
    share = parameter.kind in SHARES
    # Metres mean nothing to a factor.
    if parameter.kind not in steps or (parameter.factor and not share):
        return OTHER * parameter.prior_std
    return steps[parameter.kind] * (parameter.prior if share else 1.0)
