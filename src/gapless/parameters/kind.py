"""What a kind of parameter is, and the plain sizes that kinds have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gapless.robots import Robot
from gapless.worlds.effects import Effects

JOINT, LINK, WORLD = "joint", "link", "world"

Reader = Callable[[Robot, Effects, str], float]
"""The nominal figure at a place."""

Sizer = Callable[[Robot, str, float], float]
"""An expected size at a place (robot, place, nominal figure)."""


@dataclass(frozen=True)
class Kind:
    """One kind of number.

    Attributes:
        name: the word.
        unit: of the value.
        place: "joint", "link" or "world": what the word after the slash names.
        nominal: the figure before anything is known.
        prior_std: expected error of that figure, 1 sigma.
        lower: smallest value that makes sense.
        upper: largest value that makes sense.
        step: finite-difference step, as a share of the prior std, downwards where negative; a wide
            one would take curvature for information about what cannot be told apart.
        log: whether errors are ratios: half is as far off as twice.
    """

    name: str
    unit: str
    place: str
    nominal: Reader
    prior_std: Sizer
    lower: Sizer
    upper: Sizer
    step: float = 0.002
    log: bool = False


def number(value: float) -> Sizer:
    """The same everywhere."""
    return lambda *_: value


def around(reach: float) -> Sizer:
    """So far from the nominal figure."""
    return lambda _, __, nominal: nominal + reach


def times(factor: float) -> Sizer:
    """So many times the nominal figure."""
    return lambda _, __, nominal: factor * nominal
