"""One fit: from a problem to estimates, with what the data cannot tell left at its prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import GaplessError
from gapless.identification.optimisers.gauss_newton import Iterate, foretold_share, gauss_newton
from gapless.identification.optimisers.minimising import minimise
from gapless.identification.plans.fit_checkpoint import FitCheckpoint
from gapless.identification.plans.fitted import Fit, Reached, fit_of, kept_fit
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import ENCODER_NOISE, Problem, Slopes
from gapless.identification.problem.uncertainty import given_fixed, uncertainty
from gapless.progress import Progress, Watch

FIRST_WINDOWS, FIRST_SECONDS = 32, 2.0
"""Windows of the first, quick pass, and how much of each; the last one uses all."""

ROUNDS, STEADY = 4, 0.8
"""A fit is repeated while the usual size of its errors still falls below this share."""


class NothingToGainError(GaplessError):
    """A fit that was not made: what its slopes promise is too little."""


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
    worth: float = 0.0,
    intervals: bool = True,
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
        worth: with known slopes, the share of the cost that all of them must promise to take off.
        intervals: False leaves out what widens them, where only the values are of use.

    Raises:
        NothingToGainError: they promise less.
    """
    asked = optimiser, options, free_starts, start, quick_start, known is not None
    checkpoint = (checkpoint or FitCheckpoint(None)).asking(*asked)
    kept = checkpoint.load(stage, problem)
    if kept is not None and kept[1]["done"]:
        return fit_of(problem, *kept)
    how = optimiser, options or {}, stage, checkpoint, watch, known, worth, intervals
    course = _Course(problem, *how)
    if kept is not None:
        at = course.resumed(Reached.of(*kept))
    else:
        origin = np.zeros(len(problem)) if start is None else start
        at = course.begun(origin, quick_start and optimiser == "gauss-newton")
    at = course.refined(at)
    return course.judged(course.with_free_starts(at) if free_starts else at)


@dataclass
class _Course:
    """A fit under way; its problem's unit of error falls as it goes on."""

    problem: Problem
    optimiser: str
    options: dict
    stage: str
    checkpoint: FitCheckpoint
    watch: Watch | None
    known: Slopes | None
    worth: float
    intervals: bool

    def __post_init__(self) -> None:
        self.whole = self.problem

    def report(self, here: Iterate) -> None:
        """Tell who watches."""
        if self.watch:
            self.watch(Progress(self.stage, here.iteration, figures={"error": here.error}))

    def keep(self, reached: Reached) -> Reached:
        """Write down where it is."""
        seconds = self.problem.simulator.simulated_seconds
        now = replace(reached, simulated=seconds)
        self.checkpoint.keep(self.stage, self.whole, now.arrays, now.facts)
        self.problem.forget_replays()
        return reached

    def resumed(self, at: Reached) -> Reached:
        """Where a stopped fit was."""
        self.problem.simulator.simulated_seconds = at.simulated
        self.problem = self.problem.with_noise(at.noise) if at.rounds else self.problem
        return at

    def begun(self, origin: np.ndarray, quickly: bool) -> Reached:
        """The origin, or what a quick pass makes of it."""
        if not (quickly and _per_joint(self.problem)):
            return Reached(origin)
        first = _first_pass(self.problem, origin, self.report)
        return self.keep(Reached(first.z, first.iteration))

    def refined(self, at: Reached) -> Reached:
        """On all windows, again while the usual size of errors falls."""
        while at.rounds < ROUNDS and not at.stays:
            scaled = _with_seen_noise(self.problem, at.z)
            if at.linear is not None and scaled.noise > STEADY * self.problem.noise:
                break
            how = self.options | self._slopes(at, scaled)
            found = minimise(self.optimiser, scaled, at.z, report=self.report, **how)
            self.problem, at = scaled, at.after(found, scaled.noise)
            self.keep(at)
        return at

    def _slopes(self, at: Reached, scaled: Problem) -> dict:
        """Slopes that a round need not form again."""
        if at.linear is not None:
            ratio = self.problem.noise / scaled.noise
            return {"linear": at.linear.scaled(ratio), "refreshes": 0}
        if self.optimiser != "gauss-newton":
            return {}
        if self.known is None:
            return {"refreshes": 1}
        linear = scaled.linearised(at.z, known=self.known)
        if self.worth and (share := foretold_share(scaled, linear)) < self.worth:
            raise NothingToGainError(
                f"learning motions would hardly be better explained: slopes promise {share:.1%}"
            )
        return {"linear": linear, "refreshes": 0}

    def with_free_starts(self, at: Reached) -> Reached:
        """Starts that may err; twice, the second time at the better point."""
        for _ in range(2):
            free = self.problem.with_free_starts(at.z)
            self.problem = _with_seen_noise(free, at.z)
            at = at.after(gauss_newton(self.problem, at.z, report=self.report), self.problem.noise)
        self.known = None  # of other starts
        return at

    def judged(self, at: Reached) -> Fit:
        """Intervals; and once more without what is not identifiable, which goes back to its prior.

        Readings that share errors then count as the fewer that they are worth, against the priors.
        """
        problem, z, iterations = self.problem, at.z, at.iterations
        # Slopes carried along are good enough to step by, not to judge.
        linear = at.linear if at.fresh or self.known is not None else None
        linear = linear or problem.linearised(z)
        known = uncertainty(problem, linear, shared=False)
        identifiable, z = known.identifiable, np.where(known.identifiable, z, 0.0)
        if identifiable.any():
            part = problem if identifiable.all() else problem.only(identifiable, z)
            part = part.with_discounted_data(known.discount)
            again = self._again(part, z[identifiable], linear.only(identifiable))
            z[identifiable], iterations = again.z, iterations + again.iteration
            there = again.linear or linear.only(identifiable)
            known = given_fixed(known, uncertainty(part, there, shared=self.intervals))
        error = problem.rms(problem.residuals(z[None])[0])
        seconds = problem.simulator.simulated_seconds
        found = Fit(problem, z, error, known, iterations, seconds, problem.slopes(linear))
        self.checkpoint.keep(self.stage, self.whole, *kept_fit(found))
        return found

    def _again(self, part: Problem, z: np.ndarray, linear: Linear) -> Iterate:
        effort = self.options if self.optimiser == "gauss-newton" else {}
        return gauss_newton(part, z, **{**effort, "linear": linear, "refreshes": 0})


def _per_joint(problem: Problem) -> bool:
    """Whether moving the parameters of all joints together saves replays."""
    return problem.objective == "joints" and problem.quick_share < 0.7


def _first_pass(problem: Problem, start: np.ndarray, report: Callable) -> Iterate:
    """Joint by joint on a few windows; twice, as the usual size of errors falls."""
    count = len(problem.windows)
    some = np.unique(np.linspace(0, count - 1, min(count, FIRST_WINDOWS)).round().astype(int))
    few = problem.windows[some]
    quick = problem.on(few.shortened(max(1, round(FIRST_SECONDS * few.rate))))
    found = Iterate(start, np.inf, np.inf)
    for _ in range(2):
        scaled = _with_seen_noise(quick, found.z)
        found = gauss_newton(scaled, found.z, own=True, tolerance=0.01, report=report)
    return found


def _with_seen_noise(problem: Problem, z: np.ndarray) -> Problem:
    """Count errors in units of their usual size, so that the robust loss knows what is far off."""
    residual = problem.residuals(z[None])[0]
    return problem.with_noise(max(problem.typical(residual), ENCODER_NOISE))
