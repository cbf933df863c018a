"""How a fit is made: everything but the data and the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from gapless.errors import DataError, unknown
from gapless.identification.problem.problem import Problem
from gapless.identification.problem.simulator import Simulator
from gapless.measurement.spans import Horizon
from gapless.measurement.windows import Windows, windows_of
from gapless.parameters import Parameter
from gapless.recordings.recording import Recordings
from gapless.worlds.mujoco_world import MujocoWorld

STARTS, BEGINNINGS = ("read", "free"), ("prior", "torque")
CANDIDATES = 8
"""Windows that the hardest are chosen from, for each that is fitted."""


@dataclass(frozen=True)
class IdentifySettings:
    """How a fit is made; the command line has the same options.

    Attributes:
        horizon: seconds of each window, and of the held-out replays.
        windows: most of them that are fitted.
        hardest: share of them that are what the nominal robot repeats worst, rather than spread
            evenly: torque limits and the like show in few places.
        objective: "joints" or "bodies".
        loss: "huber", "squared" or "cauchy".
        prior_weight: 1 takes the prior std of the parameters as they are.
        bounds: other bounds, by name, kind or pattern.
        priors: other value and std, likewise.
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
    windows: int = 48
    hardest: float = 0.0
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
        if not 0 <= self.hardest <= 1:
            raise DataError(f"hardest is {self.hardest}; expected a share from 0 to 1")
        cut = windows_of(recordings, world.robot, self.horizon, self._candidates)
        cut = cut if len(cut) <= self.windows else cut[self._chosen(cut, world)]
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

    @property
    def _candidates(self) -> int:
        return CANDIDATES * self.windows if self.hardest else self.windows

    def _chosen(self, cut: Windows, world: MujocoWorld) -> np.ndarray:
        """Windows that are repeated worst, and the others evenly spread."""
        hard = round(self.hardest * self.windows)
        played = Simulator(world, []).play(cut, np.zeros((1, 0)))
        error = (cut.weight * np.nan_to_num(played.q[0] - cut.real.q) ** 2).sum(axis=(1, 2))
        order = np.argsort(-error)
        rest = np.sort(order[hard:])
        even = rest[np.linspace(0, len(rest) - 1, self.windows - hard).round().astype(int)]
        return np.sort(np.concatenate([order[:hard], even]))


def matches(parameters: Sequence[Parameter], key: str) -> bool:
    """Whether a name, kind or pattern is of one of these parameters."""
    return any(key == p.kind or fnmatchcase(p.name, key) for p in parameters)
