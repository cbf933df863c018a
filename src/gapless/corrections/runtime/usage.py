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
        outside: (K,) of those, how many were outside the envelope.
        faded: (K,) sum of what the envelope took from each output: 1 is all of it.
        size: (K,) sum of the outputs' sizes.
        spread: (K,) sum of the ensemble's standard deviations.
        largest: (K,) largest output.
    """

    outputs: tuple[str, ...]
    steps: int
    outside: np.ndarray
    faded: np.ndarray
    size: np.ndarray
    spread: np.ndarray
    largest: np.ndarray

    @classmethod
    def none(cls, contract: Contract) -> Usage:
        """Nothing done yet."""
        zero = np.zeros(len(contract.outputs))
        return cls(contract.outputs, 0, zero, zero, zero, zero, zero)

    def add(self, acted: Acted, due: np.ndarray) -> None:
        """Count one step of the environments (a mask) for which it was due."""
        size = np.abs(acted.output[due])
        self.steps += int(due.sum())
        self.outside = self.outside + (acted.weight[due] < 1).sum(axis=0)
        self.faded = self.faded + (1 - acted.weight[due]).sum(axis=0)
        self.size = self.size + size.sum(axis=0)
        self.spread = self.spread + acted.spread[due].sum(axis=0)
        self.largest = np.maximum(self.largest, size.max(axis=0, initial=0.0))

    @property
    def share_outside(self) -> float:
        """Share of all outputs that were outside the envelope."""
        return float(np.mean(self.outside)) / max(1, self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types: means over all steps."""
        return {
            "steps": self.steps,
            "outside": self.share_outside,
            "outside_by_output": self._means(self.outside),
            "faded": self._means(self.faded),
            "mean_output": self._means(self.size),
            "mean_spread": self._means(self.spread),
            "largest_output": dict(zip(self.outputs, self.largest.tolist(), strict=True)),
        }

    def _means(self, sums: np.ndarray) -> dict[str, float]:
        return dict(zip(self.outputs, (sums / max(1, self.steps)).tolist(), strict=True))
