"""A Fit, and how far one has come: as arrays and facts that are read back bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from gapless.identification.estimate import Estimate, nominal_figures
from gapless.identification.optimisers.gauss_newton import Iterate
from gapless.identification.plans.fit_checkpoint import Kept
from gapless.identification.problem.linearisation import Linear
from gapless.identification.problem.problem import Problem, Slopes
from gapless.identification.problem.uncertainty import Uncertainty

LINEAR, KNOWN, SLOPE = "linear/", "known/", "slope/"
"""Beginnings of the names of arrays."""


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


@dataclass(frozen=True)
class Reached:
    """Where a fit is between two of its rounds.

    Attributes:
        z: (P,) the best point.
        iterations: so far.
        rounds: that are done.
        noise: of the last one.
        fresh: whether its slopes were formed at the point.
        simulated: seconds of all replays.
        linear: its slopes, where the optimiser formed any.
    """

    z: np.ndarray
    iterations: int = 0
    rounds: int = 0
    noise: float = 0.0
    fresh: bool = False
    simulated: float = 0.0
    linear: Linear | None = None

    @property
    def stays(self) -> bool:
        """Whether a round was the last: only Gauss-Newton goes on cheaply from where it was."""
        return self.rounds > 0 and self.linear is None

    def after(self, found: Iterate, noise: float) -> Reached:
        """Where one more round led."""
        count = self.iterations + found.iteration
        return Reached(found.z, count, self.rounds + 1, noise, found.fresh, linear=found.linear)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """To be kept."""
        if self.linear is None:
            return {"z": self.z}
        slopes = {LINEAR + f.name: getattr(self.linear, f.name) for f in fields(Linear)}
        return {"z": self.z, **slopes}

    @property
    def facts(self) -> dict[str, Any]:
        """To be kept beside them."""
        names = ("iterations", "rounds", "noise", "fresh", "simulated")
        return {"done": False, **{name: getattr(self, name) for name in names}}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Reached:
        """Inverse of `arrays` and `facts`."""
        own = {k.removeprefix(LINEAR): v for k, v in arrays.items() if k.startswith(LINEAR)}
        told = {k: v for k, v in facts.items() if k not in ("done", "problem")}
        return cls(arrays["z"], **told, linear=Linear(**own) if own else None)


def kept_fit(found: Fit) -> Kept:
    """A fit as arrays and facts."""
    known = found.uncertainty
    arrays = {KNOWN + f.name: np.asarray(getattr(known, f.name)) for f in fields(known)}
    slopes = {SLOPE + name: slope for name, slope in found.slopes.items()}
    facts = {
        "done": True,
        "error": found.error,
        "iterations": found.iterations,
        "simulated_seconds": found.simulated_seconds,
        "noise": found.problem.noise,
    }
    return {"z": found.z, **arrays, **slopes}, facts


def fit_of(problem: Problem, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Fit:
    """Inverse of `kept_fit`."""
    known = {k.removeprefix(KNOWN): v for k, v in arrays.items() if k.startswith(KNOWN)}
    slopes = {k.removeprefix(SLOPE): v for k, v in arrays.items() if k.startswith(SLOPE)}
    return Fit(
        problem.with_noise(facts["noise"]),
        arrays["z"],
        facts["error"],
        Uncertainty(**{**known, "discount": float(known["discount"])}),
        facts["iterations"],
        facts["simulated_seconds"],
        slopes,
    )
