"""One fit: from a problem to estimates, with what the data cannot tell left at its prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gapless.identification.estimate import Estimate, nominal_figures
from gapless.identification.optimisers.gauss_newton import Iterate, gauss_newton
from gapless.identification.optimisers.minimising import minimise
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import ENCODER_NOISE, Problem, Slopes
from gapless.identification.problem.uncertainty import Uncertainty, given_fixed, uncertainty
from gapless.progress import Progress, Watch

FIRST_WINDOWS = 32
"""Windows of the first, quick pass; the last one uses all."""

ROUNDS, STEADY = 4, 0.8
"""A fit is repeated while the usual size of its errors still falls below this share."""


@dataclass(frozen=True)
class Fit:
    """A fitted problem.

    Attributes:
        problem: what was asked, with the noise that was found.
        z: the answer.
        error: root mean square replay error on the fitted data, rad or m.
        uncertainty: of z.
        iterations: of the optimiser.
        simulated_seconds: of all replays.
        slopes: at the answer, for a fit of more parameters to the same windows.
    """

    problem: Problem
    z: np.ndarray
    error: float
    uncertainty: Uncertainty
    iterations: int
    simulated_seconds: float
    slopes: Slopes = field(default_factory=dict, repr=False)

    @property
    def values(self) -> np.ndarray:
        """Physical values."""
        return self.problem.values(self.z)

    def estimates(self) -> tuple[Estimate, ...]:
        """One an unknown; what is not identifiable has its prior's value and std."""
        problem, known = self.problem, self.uncertainty
        robot, effects = problem.world.robot, problem.world.effects
        figures = nominal_figures(robot, effects, problem.parameters)
        rows = zip(problem.parameters, self.values, figures, strict=True)
        return tuple(
            Estimate(
                parameter=p,
                value=float(value),
                std=float(known.std[i] if known.identifiable[i] else 1.0) * p.per_z(float(value)),
                identifiable=bool(known.identifiable[i]),
                at_bound=bool(known.at_bound[i] and known.identifiable[i]),
                nominal=nominal,
            )
            for i, (p, value, nominal) in enumerate(rows)
        )


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
        checkpoint: keeps the best point of every iteration.
        watch: told the error after every iteration.
        options: of the optimiser.
        free_starts: let the starts err within what reading them allows, once the rest is found.
        known: slopes near the start that an earlier fit to the same windows found: a rough fit,
            which forms only those that are missing, and none of them twice.
    """
    checkpoint = (checkpoint or FitCheckpoint(None)).asking(optimiser, options, free_starts, start)
    kept = checkpoint.stage(stage, problem)
    if kept is not None and kept.done:
        return _finished(problem, kept, free_starts)
    best = np.zeros(len(problem)) if start is None else start
    best = best if kept is None else kept.z
    whole = problem

    def report(here: Iterate) -> None:
        checkpoint.keep(stage, whole, here)
        if watch:
            watch(Progress(stage, here.iteration, figures={"error": here.error}))

    iterations, linear, sharp = 0 if kept is None else kept.iteration, None, None
    if quick_start and kept is None and optimiser == "gauss-newton" and _per_joint(problem):
        first = _first_pass(problem, best, report)
        best, iterations = first.z, first.iteration
    for _ in range(ROUNDS):
        scaled = _with_seen_noise(problem, best)
        if linear is not None and scaled.noise > STEADY * problem.noise:
            break
        more: dict = {"refreshes": 1} if optimiser == "gauss-newton" else {}
        if linear is None and known is not None and more:
            more = {"linear": scaled.linearised(best, known=known), "refreshes": 0}
        elif linear is not None:
            more = {"linear": linear.scaled(problem.noise / scaled.noise), "refreshes": 0}
        found = minimise(optimiser, scaled, best, report=report, **(options or {}), **more)
        problem, best, linear = scaled, found.z, found.linear
        iterations += found.iteration
        if linear is None:  # only Gauss-Newton goes on cheaply from where it was
            break
    sharp = linear if found.fresh or known is not None else None
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
    slopes = problem.slopes(linear)
    residual = problem.residuals(z[None])[0]
    error = problem.rms(residual)
    cost = float(problem.costs_of(z[None], residual[None])[0])
    done = Iterate(
        z,
        cost,
        error,
        iterations,
        noise=problem.noise,
        identifiable=identifiable.tolist(),
        done=True,
    )
    checkpoint.keep(stage, whole, done)
    seconds = problem.simulator.simulated_seconds
    return Fit(problem, z, error, known, iterations, seconds, slopes)


def _finished(problem: Problem, kept: Iterate, free_starts: bool) -> Fit:
    """A stage that an earlier run had finished: the same answer, its intervals formed again."""
    z, identifiable = kept.z, np.array(kept.identifiable)
    problem = problem.with_noise(kept.noise)
    problem = problem.with_free_starts(z) if free_starts else problem
    linear = problem.linearised(z)
    known = replace(uncertainty(problem, linear), identifiable=identifiable)
    if identifiable.any() and not identifiable.all():
        part = problem.only(identifiable, z)
        known = given_fixed(known, uncertainty(part, part.linearised(z[identifiable])))
    seconds = problem.simulator.simulated_seconds
    slopes = problem.slopes(linear)
    return Fit(problem, z, kept.error, known, kept.iteration, seconds, slopes)
