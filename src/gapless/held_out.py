"""What motions that taught nothing say of a result; light, so that a robot can read it too."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeldOut:
    """Replay error on recordings that taught nothing, rad.

    Attributes:
        before: root mean square of the simulator as it was.
        after: of the calibrated or corrected one.
        horizon: seconds replayed.
        motions: names of the recordings.
    """

    before: float
    after: float
    horizon: float | str
    motions: tuple[str, ...]

    @property
    def improved(self) -> bool:
        """Whether what was found is nearer."""
        return self.after < self.before
