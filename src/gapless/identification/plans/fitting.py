"""One fit: from a problem to estimates, with what the data cannot tell left at its prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gapless.identification.optimisers.gauss_newton import Iterate, gauss_newton
from gapless.identification.optimisers.minimising import minimise
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitted import Fit, Reached, fit_of, kept_fit
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import ENCODER_NOISE, Problem, Slopes
from gapless.identification.problem.uncertainty import given_fixed, uncertainty
from gapless.progress import Progress, Watch

FIRST_WINDOWS = 32
"""Windows of the first, quick pass; the last one uses all."""

ROUNDS, STEADY = 4, 0.8
"""A fit is repeated while the usual size of its errors still falls below this share."""


def fit(
    problem: Problem,
    *,
    optimiser: str = "gauss-newton",
    quick_start: bool = True,
    start: np.ndarray | None = None,
    stage: str = "fit",
    checkpoint: FitCheckpoint | None = None,
    watch: Watch | None = None,
    options: dict | None = None,
    free_starts: bool = False,
    known: Slopes | None = None,
) -> Fit:
    """Minimise a problem, then judge the result.

    Args:
        problem: what to fit.
        optimiser: a key of `OPTIMISERS`.
        quick_start: begin joint by joint, on some of the windows.
        start: (P,) where to begin; the priors by default.
        stage: a name for progress and checkpoints.
        checkpoint: keeps where it is after every round, and the whole of it at its end.
        watch: told the error after every iteration.
        options: of the optimiser.
        free_starts: let the starts err within what reading them allows, once the rest is found.
        known: slopes near the start that an earlier fit to the same windows found: a rough fit,
            which forms only those that are missing, and none of them twice.
    """
    asked = optimiser, options, free_starts, start, quick_start, known is not None
    checkpoint = (checkpoint or FitCheckpoint(None)).asking(*asked)
    kept = checkpoint.load(stage, problem)
    if kept is not None and kept[1]["done"]:
        return fit_of(problem, *kept)
    whole = problem

    def report(here: Iterate) -> None:
        if watch:
            watch(Progress(stage, here.iteration, figures={"error": here.error}))

    def keep(reached: Reached) -> None:
        reached = replace(reached, simulated=problem.simulator.simulated_seconds)
        checkpoint.keep(stage, whole, reached.arrays, reached.facts)

    at = Reached(np.zeros(len(problem)) if start is None else start)
    if kept is not None:
        at = Reached.of(*kept)
        problem.simulator.simulated_seconds = at.simulated
        problem = problem.with_noise(at.noise) if at.rounds else problem
    elif quick_start and optimiser == "gauss-newton" and _per_joint(problem):
        first = _first_pass(problem, at.z, report)
        at = Reached(first.z, first.iteration)
        keep(at)
    while at.rounds < ROUNDS and not at.stays:
        scaled = _with_seen_noise(problem, at.z)
        if at.linear is not None and scaled.noise > STEADY * problem.noise:
            break
        more: dict = {"refreshes": 1} if optimiser == "gauss-newton" else {}
        if at.linear is None and known is not None and more:
            more = {"linear": scaled.linearised(at.z, known=known), "refreshes": 0}
        elif at.linear is not None:
            more = {"linear": at.linear.scaled(problem.noise / scaled.noise), "refreshes": 0}
        found = minimise(optimiser, scaled, at.z, report=report, **(options or {}), **more)
        problem, at = scaled, at.after(found, scaled.noise)
        keep(at)
    best, iterations = at.z, at.iterations
    sharp = at.linear if at.fresh or known is not None else None
    for _ in range(2 if free_starts else 0):  # again at the better point
        problem = _with_seen_noise(problem.with_free_starts(best), best)
        found = gauss_newton(problem, best, report=report)
        best, iterations = found.z, iterations + found.iteration
        sharp = found.linear if found.fresh else None
    effort = options or {} if optimiser == "gauss-newton" else {}
    return _judged(problem, best, sharp, iterations, checkpoint, stage, whole, effort)


def _per_joint(problem: Problem) -> bool:
    """Whether moving the parameters of all joints together saves replays."""
    return problem.objective == "joints" and problem.quick_share < 0.7


def _first_pass(problem: Problem, start: np.ndarray, report: Callable) -> Iterate:
    """Joint by joint on a few windows; twice, as the usual size of errors falls."""
    count = len(problem.windows)
    some = np.unique(np.linspace(0, count - 1, min(count, FIRST_WINDOWS)).round().astype(int))
    quick = problem.on(problem.windows[some])
    found = Iterate(start, np.inf, np.inf)
    for _ in range(2):
        scaled = _with_seen_noise(quick, found.z)
        found = gauss_newton(scaled, found.z, own=True, tolerance=0.01, report=report)
    return found


def _with_seen_noise(problem: Problem, z: np.ndarray) -> Problem:
    """Count errors in units of their usual size, so that the robust loss knows what is far off."""
    residual = problem.residuals(z[None])[0]
    return problem.with_noise(max(problem.typical(residual), ENCODER_NOISE))


def _judged(
    problem: Problem,
    z: np.ndarray,
    linear: Linear | None,
    iterations: int,
    checkpoint: FitCheckpoint,
    stage: str,
    whole: Problem,
    effort: dict,
) -> Fit:
    """Intervals; and once more without what is not identifiable, which goes back to its prior.

    Readings that share errors then count as the fewer that they are worth, against the priors.
    """
    # Slopes carried along are good enough to step by, not to judge.
    linear = linear or problem.linearised(z)
    known = uncertainty(problem, linear, shared=False)
    identifiable, z = known.identifiable, np.where(known.identifiable, z, 0.0)
    if identifiable.any():
        part = problem if identifiable.all() else problem.only(identifiable, z)
        part = part.with_discounted_data(known.discount)
        near = linear.only(identifiable)
        again = gauss_newton(part, z[identifiable], **{**effort, "linear": near, "refreshes": 0})
        z[identifiable], iterations = again.z, iterations + again.iteration
        known = given_fixed(known, uncertainty(part, again.linear or near))
    error = problem.rms(problem.residuals(z[None])[0])
    seconds = problem.simulator.simulated_seconds
    found = Fit(problem, z, error, known, iterations, seconds, problem.slopes(linear))
    checkpoint.keep(stage, whole, *kept_fit(found))
    return found
