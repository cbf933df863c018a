"""A load carried by one link."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Payload:
    """A rigid point load on one link.

    Attributes:
        mass: kilograms.
        com: position of the load in the link's frame, m; None is the link's centre of mass.
    """

    mass: float
    com: tuple[float, float, float] | None = None
