"""Whether the units of a fleet differ, and which of them are unlike the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05
"""Chance that any parameter of a fleet of equal units is said to differ."""
FEWEST, FAR = 4, 3.5
"""Units from which on one can be unlike the others, and how many robust deviations that is."""
ALIKE = 0.05
"""Errors of units that differ by less than this share are never called unlike."""
ROBUST = 1.4826
"""Median absolute deviation -> standard deviation, of a normal distribution."""

Estimates = Mapping[str, tuple[float, float]]
"""Unit -> value and its standard deviation."""


@dataclass(frozen=True)
class UnitSpread:
    """One parameter over a fleet.

    Attributes:
        name: of the parameter.
        unit: of its values.
        nominal: the robot's own value.
        values: unit -> value and standard deviation.
        mean: weighted by what each unit knows.
        beyond: standard deviation between units beyond the errors of their fits.
        chance: that units which are all alike would look so different.
        differs: whether that is too little to believe, for as many parameters as were looked at.
        outliers: units that are unlike the others.
    """

    name: str
    unit: str
    nominal: float
    values: Estimates
    mean: float
    beyond: float
    chance: float
    differs: bool
    outliers: tuple[str, ...]


def spread_of(
    name: str, unit: str, nominal: float, values: Estimates, looked_at: int
) -> UnitSpread:
    """What a fleet says of a parameter that two units or more have.

    Args:
        name: of the parameter.
        unit: of its values.
        nominal: the robot's own value.
        values: of each unit.
        looked_at: parameters in all.
    """
    from scipy.stats import chi2

    value, std = np.array(list(values.values())).T
    weight = 1 / np.maximum(std, 1e-12) ** 2
    mean = float((weight * value).sum() / weight.sum())
    chance = float(chi2.sf((weight * (value - mean) ** 2).sum(), len(value) - 1))
    beyond = float(np.sqrt(max(0.0, value.var(ddof=1) - (std**2).mean())))
    differs = chance * looked_at < LEVEL
    far = _unlike(value, std) if differs else np.zeros(len(value), bool)
    outliers = tuple(u for u, is_far in zip(values, far, strict=True) if is_far)
    return UnitSpread(name, unit, nominal, dict(values), mean, beyond, chance, differs, outliers)


def unlike_errors(errors: Mapping[str, float]) -> tuple[str, ...]:
    """Units whose error is unlike that of the others, by its logarithm."""
    told = {u: e for u, e in errors.items() if e > 0}
    if not told:
        return ()
    far = _unlike(np.log(list(told.values())), np.full(len(told), ALIKE))
    return tuple(u for u, is_far in zip(told, far, strict=True) if is_far)


def _unlike(value: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Whether each is far from the median, by the spread of most and its own error."""
    if len(value) < FEWEST:
        return np.zeros(len(value), bool)
    off = np.abs(value - np.median(value))
    size = np.sqrt((ROBUST * np.median(off)) ** 2 + std**2)
    return off > FAR * size
