"""How a fit is made: everything but the data and the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from gapless.errors import require_number
from gapless.measurement.spans import FULL, Horizon
from gapless.parameters import Parameter

STARTS, BEGINNINGS = ("read", "free"), ("prior", "torque")


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

    def __post_init__(self) -> None:
        require_number("windows", self.windows, least=1)
        require_number("physics_step", self.physics_step, above=0.0)
        if self.horizon != FULL:
            require_number("horizon", self.horizon, above=0.0)


def matches(parameters: Sequence[Parameter], key: str) -> bool:
    """Whether a name, kind or pattern is of one of these parameters."""
    return any(key == p.kind or fnmatchcase(p.name, key) for p in parameters)
