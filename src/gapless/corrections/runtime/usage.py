"""Usage: what a correction did while it ran, and where it left its envelope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.corrections.runtime.contract import Contract

if TYPE_CHECKING:
    from gapless.corrections.runtime.correction import Acted


@dataclass
class Usage:
    """Sums over all steps of all environments.

    Attributes:
        outputs: names of what is corrected.
        steps: corrections that were asked for.
        outside: of those, how many were outside the envelope.
        size: (K,) sum of the outputs' sizes.
        spread: (K,) sum of the ensemble's standard deviations.
        largest: (K,) largest output.
    """

    outputs: tuple[str, ...]
    steps: int
    outside: int
    size: np.ndarray
    spread: np.ndarray
    largest: np.ndarray

    @classmethod
    def none(cls, contract: Contract) -> Usage:
        """Nothing done yet."""
        zero = np.zeros(len(contract.outputs))
        return cls(contract.outputs, 0, 0, zero, zero, zero)

    def add(self, acted: Acted, due: np.ndarray) -> None:
        """Count one step of the environments (a mask) for which it was due."""
        size = np.abs(acted.output[due])
        self.steps += int(due.sum())
        self.outside += int((acted.weight[due] < 1).sum())
        self.size = self.size + size.sum(axis=0)
        self.spread = self.spread + acted.spread[due].sum(axis=0)
        self.largest = np.maximum(self.largest, size.max(axis=0, initial=0.0))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: means over all steps."""
        steps = max(1, self.steps)
        return {
            "steps": self.steps,
            "outside": self.outside / steps,
            "mean_output": dict(zip(self.outputs, (self.size / steps).tolist(), strict=True)),
            "mean_spread": dict(zip(self.outputs, (self.spread / steps).tolist(), strict=True)),
            "largest_output": dict(zip(self.outputs, self.largest.tolist(), strict=True)),
        }
