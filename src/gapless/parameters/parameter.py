"""One unknown number of a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import GaplessError
from gapless.parameters.kind import JOINT
from gapless.parameters.kinds import KINDS


@dataclass(frozen=True)
class Parameter:
    """One number, at one place or shared by several.

    Attributes:
        name: "kp/left_elbow_joint", "delay/all", "mass/torso_link", "kp/knee@sides".
        kind: a key of `KINDS`.
        places: the joints or links whose figure it is; empty for the floor.
        unit: of the value; "x nominal" where the value multiplies each place's own figure.
        prior: the value before anything is known.
        prior_std: expected error of the prior; makes numbers of different units comparable.
        lower: smallest value that makes sense.
        upper: largest value that makes sense.
        step: finite-difference step.
        factor: True where the value multiplies the figures of places that differ.
        log: True where errors are ratios: half is as far off as twice.
    """

    name: str
    kind: str
    places: tuple[str, ...]
    unit: str
    prior: float
    prior_std: float
    lower: float
    upper: float
    step: float
    factor: bool = False
    log: bool = False

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise GaplessError(
                f"bounds of {self.name} contradict each other: {self.lower:g} to {self.upper:g} "
                f"{self.unit}; expected the lower one below the upper one"
            )
        if not self.lower <= self.prior <= self.upper:
            raise GaplessError(
                f"{self.name} is {self.prior:g} {self.unit}, outside its bounds {self.lower:g} to "
                f"{self.upper:g}; widen the bounds or change the prior"
            )
        if self.log and not self.lower > 0:
            raise GaplessError(
                f"the lower bound of {self.name} is {self.lower:g}; expected above 0"
            )
        if not (self.prior_std > 0 and self.step != 0):
            raise GaplessError(f"prior_std of {self.name} is {self.prior_std:g}; expected above 0")

    @property
    def joint(self) -> str | None:
        """The joint it belongs to; None for a link's number and for one that joints share."""
        alone = len(self.places) == 1 and KINDS[self.kind].place == JOINT
        return self.places[0] if alone else None

    def value_of(self, z: np.ndarray) -> np.ndarray:
        """The values at these distances from the prior, in prior std."""
        if self.log:
            return np.clip(
                self.prior * np.exp(z * self.prior_std / self.prior), self.lower, self.upper
            )
        return np.clip(self.prior + z * self.prior_std, self.lower, self.upper)

    def z_of(self, value: float) -> float:
        """The inverse of `value_of`."""
        if self.log:
            return float(np.log(value / self.prior) * self.prior / self.prior_std)
        return (value - self.prior) / self.prior_std

    def per_z(self, value: float) -> float:
        """How much the value changes per prior std, at a value."""
        return self.prior_std * value / self.prior if self.log else self.prior_std

    @property
    def steps(self) -> tuple[float, float]:
        """Finite-difference steps to both sides, as far as the bounds allow; one may be zero."""
        lowest, highest = self.lower - self.prior, self.upper - self.prior
        ahead, back = (min(max(s, lowest), highest) for s in (self.step, -self.step))
        return ahead, back
