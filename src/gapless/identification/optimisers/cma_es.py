"""CMA-ES: evolves a cloud of candidates; no slopes, many replays. For costs with many valleys."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from gapless.errors import GaplessError, MissingExtraError, SimulationError
from gapless.identification.optimisers.gauss_newton import Iterate, Report
from gapless.identification.problem.problem import Problem

HUGE = 1e30
"""Stands for a cost that is no number: worse than all others, and yet a number."""


def require_cma() -> None:
    """Refuse before the work starts where the package is not installed."""
    if find_spec("cma") is None:
        raise MissingExtraError("cma", "cma", "the cma optimiser")


def cma_es(
    problem: Problem,
    start: np.ndarray,
    *,
    population: int = 10,
    sigma: float = 0.5,
    iterations: int = 2000,
    seed: int = 0,
    tolerance: float = 0.01,
    report: Report | None = None,
) -> Iterate:
    """Minimise a problem.

    Args:
        problem: what to minimise.
        start: (P,) where to begin.
        population: candidates of a generation; they are replayed in one batch.
        sigma: first size of the cloud, in prior std of the parameters.
        iterations: generations at most.
        seed: of the chance in it.
        tolerance: stop when the costs of the last generations differ by less than this; a cost
            that is half a unit higher is one standard deviation away.
        report: told after each generation.
    """
    require_cma()
    import cma

    if population < 2 or not sigma > 0:
        raise GaplessError(
            f"population {population} and sigma {sigma} cannot evolve; "
            "expected at least 2 candidates and a sigma above 0"
        )
    rng = np.random.default_rng(seed)
    options = {
        "popsize": population,
        "bounds": [problem.lower, problem.upper],
        "maxiter": iterations,
        "tolfun": tolerance,
        "randn": lambda *shape: rng.standard_normal(shape),
        "seed": np.nan,  # leaves NumPy's global chance alone
        "verbose": -10,  # no output, and no file of signals is read
        "verb_log": 0,
    }
    first = np.clip(start, problem.lower, problem.upper)
    here = _keep_best(problem, Iterate(first, np.inf, np.inf), first[None])[0]
    if here.cost >= HUGE:
        raise SimulationError("the replay error at the start is not finite; check the recordings")
    evolution = cma.CMAEvolutionStrategy(first, sigma, options)
    while not evolution.stop():
        asked = evolution.ask()
        here, costs = _keep_best(problem, here, np.array(asked))
        evolution.tell(asked, costs.tolist())
        here.iteration += 1
        here.history.append(here.error)
        if report:
            report(here)
    return here


def _keep_best(problem: Problem, here: Iterate, points: np.ndarray) -> tuple[Iterate, np.ndarray]:
    """Costs of (k, P) points; progress moves to the best of them if it is better."""
    residuals = problem.residuals(points)
    costs = problem.costs_of(points, residuals)
    costs = np.where(np.isfinite(costs), costs, HUGE)
    best = int(np.argmin(costs))
    if costs[best] < here.cost:
        here.z, here.cost = points[best], float(costs[best])
        here.error = problem.rms(residuals[best])
    return here, costs
