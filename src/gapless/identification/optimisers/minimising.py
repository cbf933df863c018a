"""The optimisers by name; all minimise the same Problem and return a Iterate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gapless.errors import unknown
from gapless.identification.optimisers.gauss_newton import Iterate, gauss_newton
from gapless.identification.problem.problem import Problem


def _cma(*args: Any, **options: Any) -> Iterate:
    from gapless.identification.optimisers.cma_es import cma_es

    return cma_es(*args, **options)


def _grid(*args: Any, **options: Any) -> Iterate:
    from gapless.identification.optimisers.grid import grid

    return grid(*args, **options)


def _gradient(*args: Any, **options: Any) -> Iterate:
    from gapless.identification.optimisers.gradient_descent import gradient

    return gradient(*args, **options)


OPTIMISERS: dict[str, Callable[..., Iterate]] = {
    "gauss-newton": gauss_newton,
    "gradient": _gradient,
    "cma": _cma,
    "grid": _grid,
}
"""Name -> function of (problem, start, report=...)."""


def minimise(name: str, problem: Problem, start: np.ndarray, **options: Any) -> Iterate:
    """Minimise a problem by the optimiser of a name."""
    if name not in OPTIMISERS:
        raise unknown("optimiser", name, OPTIMISERS)
    return OPTIMISERS[name](problem, start, **options)
