"""Residuals and their slopes at a point: what a Gauss-Newton step and an interval are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Linear:
    """The residuals and their slopes at a point.

    Attributes:
        z: (P,) the point.
        residual: (n, R) of each window, in units of the noise.
        slope: (n, R, P).
        weight: (n, R) of the robust loss.
    """

    z: np.ndarray
    residual: np.ndarray
    slope: np.ndarray
    weight: np.ndarray

    def moved_to(self, z: np.ndarray, residual: np.ndarray, weight: np.ndarray) -> Linear:
        """The slopes carried to a near point, corrected along the way that was gone (Broyden)."""
        way = z - self.z
        seen = residual - self.residual
        missed = seen - self.slope @ way
        slope = self.slope + missed[..., None] * (way / max(way @ way, 1e-12))
        return Linear(z, residual, slope, weight)

    def scaled(self, ratio: float) -> Linear:
        """The same in another unit of noise."""
        return Linear(self.z, ratio * self.residual, ratio * self.slope, self.weight)

    def only(self, chosen: np.ndarray) -> Linear:
        """The same for some parameters."""
        return Linear(self.z[chosen], self.residual, self.slope[..., chosen], self.weight)

    @cached_property
    def information(self) -> np.ndarray:
        """(P, P) Gauss-Newton Hessian of the data."""
        rows = self.slope.reshape(-1, self.slope.shape[-1])
        return rows.T @ (self.weight.reshape(-1, 1) * rows)

    @cached_property
    def scores(self) -> np.ndarray:
        """(n, P) gradient of each window's cost."""
        return ((self.weight * self.residual)[:, None] @ self.slope)[:, 0]
