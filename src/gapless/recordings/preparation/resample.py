"""Onto a uniform grid: states linearly, commands held, and nothing across a gap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapless.recordings.preparation import clock

SNAP = 1e-6
"""Share of a sampling interval within which a grid point counts as the sample itself."""
MISSING = 1.5
"""Sampling intervals between two samples above which one is missing between them."""


def grid(start: float, stop: float, rate: float) -> np.ndarray:
    """Times from start to stop, every 1/rate seconds."""
    return start + np.arange(int(np.floor((stop - start) * rate + SNAP)) + 1) / rate


@dataclass(frozen=True)
class Resampler:
    """One clock brought onto one grid; streams that share the clock share the work.

    Attributes:
        time: (T,) strictly increasing seconds.
        at: (N,) seconds of the grid.
        max_gap: neighbours further apart than this are not connected, s.
    """

    time: np.ndarray
    at: np.ndarray
    max_gap: float

    def linear(self, values: np.ndarray) -> np.ndarray:
        """Interpolate (T, k) values inside segments; NaN outside, in gaps and beside a NaN."""
        left, source, weight = self._bracket
        if not weight.any():
            out = values[source]
        else:  # in place, because a long log is slow for its memory
            low, out = values[left], values[np.minimum(left + 1, len(values) - 1)]
            out -= low
            out *= weight[:, None]
            out += low
            exact = np.flatnonzero(weight == 0)
            out[exact] = values[source[exact]]
        out[~self.inside] = np.nan
        return out

    def held(self, values: np.ndarray) -> np.ndarray:
        """Commands: the last one that had been issued when each grid point came (zero-order hold).

        A command counts as issued at the grid point its time rounds to, so one that comes up to
        half an interval (the shorter of the grid's and the clock's) after a grid point acts from
        that point on. Commands are issued once a step with jitter; "at or before" would give every
        command that is a microsecond late to the next step, and shift it by a whole one.

        Returns:
            (N, k) values; NaN before the first command and where the last one is older than
            max_gap.
        """
        source, known = self._last
        out = values[source]
        out[~known] = np.nan
        return out

    def rotations(self, quats: np.ndarray) -> np.ndarray:
        """Interpolate unit quaternions along the shorter arc (normalised linear)."""
        mixed = self.linear(continuous(quats))
        norm = np.linalg.norm(mixed, axis=1, keepdims=True)
        return continuous(mixed / np.where(norm > 0, norm, np.nan))

    @cached_property
    def inside(self) -> np.ndarray:
        """(N,) grid points on a sample, or between two that are near enough."""
        left, _, weight = self._bracket
        tolerance = SNAP * self._typical
        within = (self.at >= self.time[0] - tolerance) & (self.at <= self.time[-1] + tolerance)
        right = np.minimum(left + 1, len(self.time) - 1)
        apart = self.time[right] - self.time[left]
        return within & ((weight == 0) | (apart <= self.max_gap * (1 + SNAP)))

    @cached_property
    def bridged(self) -> np.ndarray:
        """(N,) grid points between two samples with samples missing between them."""
        left, _, weight = self._bracket
        apart = self.time[np.minimum(left + 1, len(self.time) - 1)] - self.time[left]
        return (weight > 0) & (weight < 1) & (apart > MISSING * self._typical)

    @cached_property
    def _typical(self) -> float:
        return clock.interval(self.time)

    @cached_property
    def _bracket(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left neighbour, the sample itself where there is one, and else the right one's weight."""
        time, at, tolerance = self.time, self.at, SNAP * self._typical
        left = np.clip(np.searchsorted(time, at, side="right") - 1, 0, max(len(time) - 2, 0))
        right = np.minimum(left + 1, len(time) - 1)
        since, until = at - time[left], time[right] - at
        on_right = (until <= tolerance) & (since > tolerance)
        on_sample = on_right | (since <= tolerance)
        apart = since + until
        weight = since / np.where(apart > 0, apart, 1.0)
        return left, np.where(on_right, right, left), np.where(on_sample, 0.0, weight)

    @cached_property
    def _last(self) -> tuple[np.ndarray, np.ndarray]:
        """The command in force at each grid point, and whether there is one."""
        early = 0.5 * min(clock.interval(self.at), self._typical)
        index = np.searchsorted(self.time, self.at + early * (1 - SNAP), side="right") - 1
        source = np.maximum(index, 0)
        age = self.at - self.time[source]
        return source, (index >= 0) & (age <= self.max_gap * (1 + SNAP))


def continuous(quats: np.ndarray) -> np.ndarray:
    """Choose signs so that neighbours lie in one hemisphere and the first w is not negative."""
    filled = fill(quats)
    dots = np.sum(filled[1:] * filled[:-1], axis=1)
    signs = np.cumprod(np.r_[1.0, np.where(dots < 0, -1.0, 1.0)])
    first = -1.0 if len(quats) and filled[0, 0] < 0 else 1.0
    return quats * (first * signs)[:, None]


def fill(values: np.ndarray) -> np.ndarray:
    """Replace NaN by the last finite value of its column (the first one at the start, else 0)."""
    good = np.isfinite(values)
    if good.all():
        return values
    rows = np.where(good, np.arange(len(values))[:, None], -1)
    last = np.maximum.accumulate(rows, axis=0)
    first = np.argmax(good, axis=0)
    source = np.where(last >= 0, last, first[None, :])
    return np.nan_to_num(np.take_along_axis(values, source, axis=0), posinf=0.0, neginf=0.0)


def slope(values: np.ndarray, mask: np.ndarray, rate: float) -> np.ndarray:
    """Rate of change by central differences inside valid segments, one-sided at their ends."""
    step = np.diff(values, axis=0)
    joined = mask[1:] & mask[:-1]
    step *= joined * rate
    total, count = np.zeros(values.shape), np.zeros(values.shape, np.int8)
    total[:-1], count[:-1] = step, joined
    total[1:] += step
    count[1:] += joined
    total /= np.maximum(count, 1)
    return total
