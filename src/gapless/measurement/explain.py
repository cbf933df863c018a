"""Explaining an error by few of many possible directions: bounded least squares, joint by joint."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear


def explain(
    error: np.ndarray,
    moved: np.ndarray,
    bounds: np.ndarray,
    active: np.ndarray,
    worthwhile: np.ndarray | None,
) -> np.ndarray:
    """(J, C) factors by which the probes best explain each joint's error.

    Args:
        error: (N, J) what is to be explained, negated.
        moved: (N, J, C) what each probe does.
        bounds: (2, J, C) smallest and largest factors.
        active: (J, C) causes already taken up; they are refitted.
        worthwhile: (J,) what a new cause must explain at least; None looks for none.
    """
    factors = np.zeros(moved.shape[1:])
    for j in range(error.shape[1]):
        good = np.isfinite(error[:, j]) & np.isfinite(moved[:, j]).all(axis=1)
        wanted, columns = -error[good, j], moved[good, j]
        # A probe that hardly moves the joint could only explain it at an absurd size.
        acts = np.linalg.norm(columns, axis=0) > 1e-3 * np.linalg.norm(wanted)
        chosen = np.flatnonzero(acts & active[j]).tolist()
        factors[j] = _fit(columns, wanted, bounds[:, j], chosen)
        rest = np.flatnonzero(acts & ~active[j]).tolist()
        if worthwhile is not None and worthwhile[j] > 0 and rest:
            trials = [_fit(columns, wanted, bounds[:, j], [*chosen, c]) for c in rest]
            best = max(trials, key=lambda trial: _explained(trial, columns, wanted))
            gain = _explained(best, columns, wanted) - _explained(factors[j], columns, wanted)
            factors[j] = best if gain > worthwhile[j] else factors[j]
    return factors


def _explained(factors: np.ndarray, columns: np.ndarray, wanted: np.ndarray) -> float:
    """Sum of squares a fit takes away."""
    left = wanted - columns @ factors
    return float(wanted @ wanted - left @ left)


def _fit(
    columns: np.ndarray, wanted: np.ndarray, bounds: np.ndarray, chosen: list[int]
) -> np.ndarray:
    """Bounded least squares on some columns; (C,) factors, zero for the others."""
    if not chosen:
        return np.zeros(columns.shape[1])
    norm = np.linalg.norm(columns[:, chosen], axis=0)
    norm = np.where(norm > 0, norm, 1.0)
    low, high = bounds[:, chosen] * norm
    low, high = np.minimum(low, 0.0) - 1e-12, np.maximum(high, 0.0) + 1e-12
    found = lsq_linear(columns[:, chosen] / norm, wanted, bounds=(low, high), method="bvls").x
    factors = np.zeros(columns.shape[1])
    factors[chosen] = found / norm
    return factors
