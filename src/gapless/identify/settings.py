"""How a fit is made: everything but the data and the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from gapless.errors import unknown
from gapless.identify.fragments import fragments_of
from gapless.identify.problem import Problem
from gapless.measure.replay import Horizon
from gapless.parameters import Parameter
from gapless.recordings.recording import Recordings
from gapless.worlds.mujoco import MujocoWorld

STARTS, BEGINNINGS = ("read", "free"), ("prior", "torque")


@dataclass(frozen=True)
class Settings:
    """How a fit is made; the command line has the same options.

    Attributes:
        horizon: seconds of each fragment, and of the held-out replays.
        fragments: most of them that are fitted.
        objective: "joints" or "bodies".
        loss: "huber", "squared" or "cauchy".
        prior_weight: 1 takes the spreads of the parameters as they are.
        bounds: other bounds, by name, kind or pattern.
        priors: other value and spread, likewise.
        boxes: HALO's box regularisers, shares of the prior.
        optimiser: "gauss-newton", "gradient", "cma" or "grid".
        options: of the optimiser.
        starts: "read" takes starts as recorded (smoothed), "free" lets them err within what reading
            them allows: better where errors are small and velocities are not logged.
        begin: "prior", or "torque": masses and centres first from torques, by one linear fit.
        physics_step: longest physics step, s.
        threads: all cores by default.
    """

    horizon: Horizon = 1.0
    fragments: int = 48
    objective: str = "joints"
    loss: str = "huber"
    prior_weight: float = 1.0
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    boxes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    optimiser: str = "gauss-newton"
    options: Mapping[str, Any] = field(default_factory=dict)
    starts: str = "read"
    begin: str = "prior"
    physics_step: float = 0.002
    threads: int | None = None

    def problem(
        self, recordings: Recordings, world: MujocoWorld, parameters: Sequence[Parameter]
    ) -> Problem:
        """The problem of explaining recordings by parameters."""
        if self.starts not in STARTS:
            raise unknown("kind of starts", self.starts, STARTS)
        if self.begin not in BEGINNINGS:
            raise unknown("beginning", self.begin, BEGINNINGS)
        cut = fragments_of(recordings, world.robot, self.horizon, self.fragments)
        return Problem(
            world,
            parameters,
            cut,
            objective=self.objective,
            # Exact slopes know no robust loss.
            loss="squared" if self.optimiser == "gradient" else self.loss,
            prior_weight=self.prior_weight,
            boxes={k: v for k, v in self.boxes.items() if matches(parameters, k)},
        )


def matches(parameters: Sequence[Parameter], key: str) -> bool:
    """Whether a name, kind or pattern is of one of these parameters."""
    return any(key == p.kind or fnmatchcase(p.name, key) for p in parameters)
