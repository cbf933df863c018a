"""Onto a uniform grid: states linearly, commands held, and nothing across a gap."""

from __future__ import annotations

import numpy as np

SNAP = 1e-6
"""Share of a sampling interval within which a grid point counts as the sample itself."""


def grid(start: float, stop: float, rate: float) -> np.ndarray:
    """Times from start to stop, every 1/rate seconds."""
    return start + np.arange(int(np.floor((stop - start) * rate + SNAP)) + 1) / rate


def linear(time: np.ndarray, values: np.ndarray, at: np.ndarray, max_gap: float) -> np.ndarray:
    """Interpolate inside segments.

    Args:
        time: (T,) strictly increasing seconds.
        values: (T, k); NaN where nothing was logged.
        at: (N,) seconds.
        max_gap: neighbours further apart than this are not connected, s.

    Returns:
        (N, k) values; NaN before, after and inside gaps, and beside a NaN.
    """
    left, weight, apart = _bracket(time, at)
    right = np.minimum(left + 1, len(time) - 1)
    low, high = values[left], values[right]
    mixed = low + weight[:, None] * (high - low)
    out = np.where((weight == 0)[:, None], low, np.where((weight == 1)[:, None], high, mixed))
    inside = (weight == 0) | (weight == 1) | (apart <= max_gap * (1 + SNAP))
    return np.where((inside & _within(time, at))[:, None], out, np.nan)


def held(time: np.ndarray, values: np.ndarray, at: np.ndarray, max_gap: float) -> np.ndarray:
    """Commands: the last value issued at or before each grid point (zero-order hold).

    A command belongs to the grid step its time rounds to, so that jitter of less than half an
    interval does not shift it by a whole step.

    Returns:
        (N, k) values; NaN before the first command and where the last one is older than max_gap.
    """
    early = 0.5 * min(_typical(at), _typical(time))
    index = np.searchsorted(time, at + early * (1 - SNAP), side="right") - 1
    age = at - time[np.maximum(index, 0)]
    known = (index >= 0) & (age <= max_gap * (1 + SNAP))
    return np.where(known[:, None], values[np.maximum(index, 0)], np.nan)


def rotations(time: np.ndarray, quats: np.ndarray, at: np.ndarray, max_gap: float) -> np.ndarray:
    """Interpolate unit quaternions along the shorter arc (normalised linear)."""
    mixed = linear(time, continuous(quats), at, max_gap)
    norm = np.linalg.norm(mixed, axis=1, keepdims=True)
    return continuous(mixed / np.where(norm > 0, norm, np.nan))


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
    step = np.diff(values, axis=0) * rate
    joined = mask[1:] & mask[:-1]
    pad = np.zeros((1, values.shape[1]))
    total = np.concatenate([step * joined, pad]) + np.concatenate([pad, step * joined])
    count = np.concatenate([joined, pad > 0]).astype(int) + np.concatenate([pad > 0, joined])
    return total / np.maximum(count, 1)


def _bracket(time: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left neighbour, weight of the right one (0 and 1 snapped) and their distance."""
    tolerance = SNAP * _typical(time)
    left = np.clip(np.searchsorted(time, at, side="right") - 1, 0, max(len(time) - 2, 0))
    right = np.minimum(left + 1, len(time) - 1)
    apart = time[right] - time[left]
    weight = np.clip((at - time[left]) / np.where(apart > 0, apart, 1.0), 0.0, 1.0)
    weight = np.where(np.abs(at - time[left]) <= tolerance, 0.0, weight)
    return left, np.where(np.abs(at - time[right]) <= tolerance, 1.0, weight), apart


def _within(time: np.ndarray, at: np.ndarray) -> np.ndarray:
    tolerance = SNAP * _typical(time)
    return (at >= time[0] - tolerance) & (at <= time[-1] + tolerance)


def _typical(time: np.ndarray) -> float:
    return float(np.median(np.diff(time))) if len(time) > 1 else 1.0
