"""Robust losses: how much a large error counts, in units of the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

KNEE = 3.0
"""Errors beyond this many noise levels count less than their square."""

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Loss:
    """A loss of squared errors x = (error/noise)².

    Attributes:
        value: what each adds to twice the cost.
        weight: its slope: the weight of each error in a least-squares step.
        name: as people type it.
    """

    value: Function
    weight: Function
    name: str


def _huber(x: np.ndarray) -> np.ndarray:
    return np.where(x <= KNEE**2, x, 2 * KNEE * np.sqrt(x) - KNEE**2)


def _huber_weight(x: np.ndarray) -> np.ndarray:
    return KNEE / np.maximum(np.sqrt(x), KNEE)


LOSSES = {
    "squared": Loss(lambda x: x, np.ones_like, "squared"),
    "huber": Loss(_huber, _huber_weight, "huber"),
    "cauchy": Loss(
        lambda x: KNEE**2 * np.log1p(x / KNEE**2), lambda x: 1 / (1 + x / KNEE**2), "cauchy"
    ),
}
"""Name -> loss; "squared" trusts every reading, "cauchy" forgets what is far off."""
