"""One identified parameter, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapless.field_kinds import wrong_fields
from gapless.parameters import KINDS, Parameter
from gapless.robots import Robot
from gapless.worlds.effects import Effects

INTERVAL = 1.96
"""Standard deviations on each side of a 95 % interval."""


@dataclass(frozen=True)
class Estimate:
    """One identified figure.

    Attributes:
        parameter: what it is.
        value: identified; the prior where the data could not tell.
        std: 1 sigma; the prior std where it is not identifiable.
        identifiable: whether the data identify it.
        at_bound: whether the fit stopped at a bound: the interval then is one-sided at best.
        nominal: the robot's own figures at its places.
    """

    parameter: Parameter
    value: float
    std: float
    identifiable: bool
    at_bound: bool
    nominal: tuple[float, ...]

    @property
    def name(self) -> str:
        """Of the parameter."""
        return self.parameter.name

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, within the parameter's bounds."""
        reach = INTERVAL * self.std
        p = self.parameter
        return max(self.value - reach, p.lower), min(self.value + reach, p.upper)


def nominal_figures(
    robot: Robot, effects: Effects, parameters: Sequence[Parameter]
) -> list[tuple[float, ...]]:
    """The robot's own figures at the places of each parameter."""
    return [
        tuple(KINDS[p.kind].nominal(robot, effects, place) for place in p.places or ("",))
        for p in parameters
    ]


def to_entry(estimate: Estimate) -> dict[str, Any]:
    """Plain JSON form of an estimate."""
    low, high = estimate.interval
    parameter = asdict(estimate.parameter) | {"places": list(estimate.parameter.places)}
    return {
        **parameter,
        "value": estimate.value,
        "std": estimate.std,
        "interval95": [low, high],
        "identifiable": estimate.identifiable,
        "at_bound": estimate.at_bound,
        "nominal": list(estimate.nominal),
    }


def from_entry(entry: dict[str, Any]) -> Estimate:
    """Inverse of `to_entry`."""
    own: dict[str, Any] = {k: entry[k] for k in Parameter.__dataclass_fields__}
    own["places"] = tuple(own["places"])
    parameter = Parameter(**own)
    if parameter.kind not in KINDS:
        raise ValueError(f"unknown parameter kind {parameter.kind!r}")
    nominal = tuple(map(float, entry["nominal"]))
    if len(nominal) != len(parameter.places or ("",)):
        raise ValueError(f"{parameter.name} has {len(nominal)} nominal figures")
    found = Estimate(
        parameter,
        float(entry["value"]),
        float(entry["std"]),
        bool(entry["identifiable"]),
        bool(entry["at_bound"]),
        nominal,
    )
    wrong = [*wrong_fields(found), *wrong_fields(parameter)]
    if wrong or not np.isfinite([found.value, found.std]).all():
        raise ValueError("; ".join(wrong) or f"{found.name} is {found.value} ± {found.std}")
    return found
