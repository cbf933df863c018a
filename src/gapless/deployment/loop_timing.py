"""How long the parts of a control step take, in memory that does not grow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

LEAST, MOST, BINS = 1e-6, 10.0, 400
"""Bounds of the histogram, s, and its bins: each is 4 % wide."""
DECADES = math.log(MOST / LEAST)


class Clock(Protocol):
    """What the loop lives by."""

    def now(self) -> float:
        """Monotonic seconds."""
        ...

    def sleep_until(self, moment: float) -> None:
        """Return at a moment of `now`, or at once where it is over."""
        ...


class MonotonicClock:
    """The computer's own, which no change of the date moves."""

    def now(self) -> float:
        """Seconds."""
        return time.monotonic()

    def sleep_until(self, moment: float) -> None:
        """Sleep; the moment does not shift with how long the work before took."""
        left = moment - time.monotonic()
        if left > 0:
            time.sleep(left)


def step_until(
    until: Callable[[], bool], step: Callable[[], object], clock: Clock, period: float
) -> None:
    """Take steps in real time, or as fast as they are, until told; moments do not drift."""
    start, count = clock.now(), 0
    while not until():
        step()
        count += 1
        clock.sleep_until(start + count * period)


class TimingHistogram:
    """Durations of one part: quantiles to 4 %, the maximum exactly."""

    def __init__(self) -> None:
        self._counts = np.zeros(BINS, np.int64)
        self.count = 0
        self.max = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        share = math.log(max(seconds, LEAST) / LEAST) / DECADES
        self._counts[min(int(share * BINS), BINS - 1)] += 1
        self.count += 1
        self.max = max(self.max, seconds)

    def quantile(self, share: float) -> float:
        """Below which this share of the durations was, s; 0 where there were none."""
        if not self.count:
            return 0.0
        row = int(np.searchsorted(np.cumsum(self._counts), share * self.count))
        upper = LEAST * (MOST / LEAST) ** ((min(row, BINS - 1) + 1) / BINS)
        return float(min(upper, self.max))

    def summary(self) -> dict[str, float]:
        """p50, p99 and max, s."""
        return {"p50": self.quantile(0.5), "p99": self.quantile(0.99), "max": self.max}
