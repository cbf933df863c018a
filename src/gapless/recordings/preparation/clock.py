"""A log's clock: its unit, its order, and where it breaks into episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gapless.errors import DataError
from gapless.recordings.rawlog import TimeUnit

Result = TypeVar("Result")
SECONDS: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SHORTEST, LONGEST = 0.2e-3, 0.2
"""Plausible sampling intervals of a robot's log, s."""
SPLIT_GAP = 1.0
"""An interruption longer than this (s) ends the episode."""
TWO_UNITS, TWO_SHARE = 0.1, 0.05
"""How near (in powers of a thousand) a step must be to another unit's, and how many steps are."""
REORDER_SPAN = 10
"""Samples that arrive late by at most this many intervals may be sorted back."""


@dataclass(frozen=True)
class Ordered:
    """Rows of a stream in time order.

    Attributes:
        groups: row numbers between resets of the clock, each strictly increasing in time.
        duplicates: rows dropped because their time had been seen, or is not a number.
        late: rows that arrived out of order and were put back.
    """

    groups: tuple[np.ndarray, ...]
    duplicates: int
    late: int

    @property
    def untouched(self) -> bool:
        """Whether all rows stay, in their order."""
        return len(self.groups) == 1 and not self.duplicates and not self.late


def once_a_clock(make: Callable[[np.ndarray], Result]) -> Callable[[np.ndarray], Result]:
    """Compute something once for each time array: the streams of a log often share theirs."""
    made: dict[int, tuple[np.ndarray, Result]] = {}

    def get(time: np.ndarray) -> Result:
        if id(time) not in made:
            made[id(time)] = (time, make(time))  # kept, so that its id stays its own
        return made[id(time)][1]

    return get


def interval(time: np.ndarray) -> float:
    """Median forward step of a clock, in its own unit; NaN where it never advances."""
    steps = time[1:] - time[:-1]
    steps = np.sort(steps[steps > 0])
    half = len(steps) // 2
    # np.median takes ten times as long on a short clip.
    return float(0.5 * (steps[half] + steps[~half])) if len(steps) else float("nan")


def infer_unit(time: np.ndarray, declared: TimeUnit | None) -> TimeUnit:
    """The unit in which the sampling interval is plausible.

    Raises:
        DataError: the declared unit is implausible, or not exactly one unit is plausible.
    """
    step = interval(time)
    _refuse_two_units(time, step)
    low, high = 0.99 * SHORTEST, 1.01 * LONGEST
    fits: list[TimeUnit] = [u for u, scale in SECONDS.items() if low <= step * scale <= high]
    if declared is not None:
        if declared in fits:
            return declared
        hint = f"; {fits[0]!r} would be plausible" if fits else ""
        raise DataError(
            f"time unit {declared!r} makes the median sampling interval "
            f"{step * SECONDS[declared]:.3g} s, expected {SHORTEST} to {LONGEST} s{hint}"
        )
    if len(fits) == 1:
        return fits[0]
    could = f"could be {' or '.join(fits)}" if fits else "fits no unit (s, ms, us, ns)"
    raise DataError(
        f"time unit cannot be inferred: the median step of the clock is {step:.6g}, which {could}; "
        "give --time-unit"
    )


def _refuse_two_units(time: np.ndarray, step: float) -> None:
    """Refuse a clock that ticks in seconds for a while and in milliseconds for another."""
    steps = np.diff(time)
    ratio = steps[steps > 0] / step
    other = np.abs(np.log10(ratio)) / 3  # thousands
    odd = (np.abs(other - np.round(other)) < TWO_UNITS) & (np.round(other) >= 1)
    if len(ratio) and odd.mean() >= TWO_SHARE:
        raise DataError(
            f"the clock seems to tick in two units: {odd.mean():.0%} of its steps are a thousand "
            f"times as long or as short as the usual one ({step:.3g}); write it in one unit, or "
            "split the log there"
        )


def order(time: np.ndarray) -> Ordered:
    """Put a stream's rows in order: drop duplicates, sort small disorder, split at resets.

    Args:
        time: (T,) seconds.
    """
    rows = np.flatnonzero(np.isfinite(time))
    step = interval(time[rows])
    late, groups = 0, []
    for piece in _split_resets(rows, time, step):
        parts, moved = _sort(piece, time, step)
        late += moved
        groups += [part[np.r_[True, np.diff(time[part]) > 0]] for part in parts]
    return Ordered(tuple(groups), len(time) - sum(len(g) for g in groups), late)


def split_gaps(rows: np.ndarray, time: np.ndarray) -> list[np.ndarray]:
    """Cut rows where the clock stands still for longer than SPLIT_GAP."""
    return np.split(rows, np.flatnonzero(np.diff(time[rows]) > SPLIT_GAP) + 1)


def _split_resets(rows: np.ndarray, time: np.ndarray, step: float) -> list[np.ndarray]:
    """Cut where the clock jumps back by more than late packets explain."""
    back = np.flatnonzero(np.diff(time[rows]) < -REORDER_SPAN * step)
    return [p for p in np.split(rows, back + 1) if len(p)]


def _sort(rows: np.ndarray, time: np.ndarray, step: float) -> tuple[list[np.ndarray], int]:
    """Sort rows if the result is an evenly filled clock, otherwise cut at each jump back."""
    back = np.flatnonzero(np.diff(time[rows]) < 0)
    if not len(back):
        return [rows], 0
    in_order = rows[np.argsort(time[rows], kind="stable")]
    steps = np.diff(time[in_order])
    # Two interleaved clocks would leave many half steps; late packets leave none.
    if np.mean((steps > 0) & (steps < 0.5 * step)) < 0.02 and len(back) < 0.1 * len(rows):
        return [in_order], len(back)
    return [p for p in np.split(rows, back + 1) if len(p)], 0
