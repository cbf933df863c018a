"""One unknown number of a robot."""

from __future__ import annotations

from dataclasses import dataclass

from gapless.errors import GaplessError


@dataclass(frozen=True)
class Parameter:
    """One number, at one place or shared by several.

    Attributes:
        name: "kp/left_elbow_joint", "delay/all", "mass/torso_link", "kp/knee@sides".
        kind: a key of `KINDS`.
        places: the joints or links whose figure it is; empty for the floor.
        unit: of the value; "x nominal" where the value multiplies each place's own figure.
        prior: the value before anything is known.
        spread: expected error of the prior, 1 sigma; makes numbers of different units comparable.
        lower: smallest value that makes sense.
        upper: largest value that makes sense.
        step: finite-difference step.
        factor: True where the value multiplies the figures of places that differ.
    """

    name: str
    kind: str
    places: tuple[str, ...]
    unit: str
    prior: float
    spread: float
    lower: float
    upper: float
    step: float
    factor: bool = False

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
        if not (self.spread > 0 and self.step > 0):
            raise GaplessError(f"spread of {self.name} is {self.spread:g}; expected above 0")

    @property
    def joint(self) -> str | None:
        """The joint it belongs to; None for a link's number and for one that joints share."""
        return self.places[0] if self.name == f"{self.kind}/{self.places[0]}" else None

    @property
    def lowest(self) -> float:
        """Most negative change from the prior that makes sense."""
        return self.lower - self.prior
