"""What came of a rung of a ladder, for its verdict and for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np


@dataclass(frozen=True)
class Step:
    """What came of a rung.

    Attributes:
        rung: its name; "nominal" is the ground.
        parameters: that are free on it.
        by_fold: replay errors on the choosing motions of each fold, rad, by horizon; under
            CLOSED_LOOP how far the recorded policy is from where it took the robot, m, where the
            policy is known.
        kept: whether the ladder goes on from it.
        why: it is not.
    """

    rung: str
    parameters: int
    by_fold: dict[str, tuple[float, ...]]
    kept: bool = True
    why: str = ""

    @property
    def errors(self) -> dict[str, float]:
        """The same, averaged over folds."""
        return {h: float(np.mean(e)) if e else 0.0 for h, e in self.by_fold.items()}

    @property
    def facts(self) -> dict:
        """For the calibration's file."""
        return {**asdict(self), "errors": self.errors}

    def gain_over(self, other: Step) -> float:
        """Share of the other's errors that is gone, over horizons and folds alike.

        A motion that nothing explains, as one that ends in a stumble, must not drown the others.
        """
        shares = [
            mine / theirs
            for h, errors in self.by_fold.items()
            for mine, theirs in zip(errors, other.by_fold[h], strict=True)
            if theirs > 0
        ]
        return 1 - float(np.mean(shares)) if shares else 0.0
