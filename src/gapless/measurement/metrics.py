"""The numbers that compare the two sides of a replay; each function says what it is, and its unit.

`error` is simulated minus real position, (W, T+1, J) rad, NaN where a sample may not be used;
sample 0 of a window is its start and equal on both sides, so it is left out by the callers.
Joint metrics return (J,), NaN where a joint has no usable sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

MAX_LAG = 0.2
"""Largest lag looked for, s."""

ALIKE = 0.5
"""Correlation of velocities below which a lag means nothing."""

LOST = 1.0
"""What a reading counts after the simulation diverged, rad."""

STILL = 1e-3
"""Standard deviation (rad) below which a joint counts as not moving."""


def _quiet(reduce: Callable[..., np.ndarray], values: np.ndarray, **kwargs: object) -> np.ndarray:
    """A nan-reduction for which an unlogged joint is NaN, not a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return reduce(values, **kwargs)


def mpjae(error: np.ndarray) -> np.ndarray:
    """Mean per-joint absolute error: mean of |Δq| over time, rad, of what did not diverge."""
    return _quiet(np.nanmean, np.abs(error), axis=(0, 1))


def replay_error(error: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Mean of |Δq| over time, rad, where (W, T, J) lost readings count as LOST."""
    return _quiet(np.nanmean, np.where(lost, LOST, np.abs(error)), axis=(0, 1))


def rmse(error: np.ndarray) -> np.ndarray:
    """Root mean square of Δq over time, rad."""
    return np.sqrt(_quiet(np.nanmean, error**2, axis=(0, 1)))


def q_dis(error: np.ndarray, rate: float) -> np.ndarray:
    """Q_dis: the integral of |Δq| over a window by trapezoids, mean over windows, rad·s."""
    size = np.abs(error)
    strips = (size[:, 1:] + size[:, :-1]) / 2 / rate
    area = np.nansum(strips, axis=1)
    return _quiet(np.nanmean, np.where(np.isfinite(strips).any(axis=1), area, np.nan), axis=0)


def large_gap_ratio(error: np.ndarray, threshold: float = 0.5) -> np.ndarray:
    """Share of samples with |Δq| at or above the threshold (rad), 1."""
    known = np.isfinite(error)
    return _quiet(np.nanmean, np.where(known, np.abs(error) >= threshold, np.nan), axis=(0, 1))


def gap_iqr(error: np.ndarray) -> np.ndarray:
    """75th minus 25th percentile of |Δq|, rad."""
    high, low = _quiet(np.nanpercentile, np.abs(error), q=[75, 25], axis=(0, 1))
    return high - low


def gap_range(error: np.ndarray) -> np.ndarray:
    """Largest minus smallest |Δq|, rad."""
    size = np.abs(error)
    return _quiet(np.nanmax, size, axis=(0, 1)) - _quiet(np.nanmin, size, axis=(0, 1))


def _centred(values: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Each window about its own mean; zero where unusable."""
    mean = _quiet(np.nanmean, np.where(usable, values, np.nan), axis=1, keepdims=True)
    return np.where(usable, values - mean, 0.0)


def correlation(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Pearson correlation of simulated and real position about their window means, 1.

    NaN for a joint that does not move.
    """
    a, b = _centred(sim, usable), _centred(real, usable)
    power = (a**2).sum(axis=(0, 1)), (b**2).sum(axis=(0, 1))
    moves = np.minimum(*power) > STILL**2 * np.maximum(usable.sum(axis=(0, 1)), 1)
    scale = np.sqrt(np.where(moves, power[0] * power[1], 1.0))
    return np.where(moves, (a * b).sum(axis=(0, 1)) / scale, np.nan)


def lag_ms(sim: np.ndarray, real: np.ndarray, usable: np.ndarray, rate: float) -> np.ndarray:
    """How long the robot trails the simulator, ms: the shift that best aligns their velocities.

    Cross-correlation within ±200 ms (a third of the window at most), normalised by overlap and
    refined by a parabola. NaN for a joint that does not move, or whose two sides are not alike at
    any lag.
    """
    both = usable[:, 1:] & usable[:, :-1]
    a = np.where(both, np.diff(sim, axis=1), 0.0)
    b = np.where(both, np.diff(real, axis=1), 0.0)
    reach = int(min(np.ceil(MAX_LAG * rate), a.shape[1] // 3))
    if reach < 1:
        return np.full(sim.shape[-1], np.nan)
    score = np.stack([_overlap(a, b, s) for s in range(-reach, reach + 1)])
    best = score.argmax(axis=0)
    middle = np.clip(best, 1, 2 * reach - 1)
    column = np.arange(score.shape[1])
    left, top, right = (score[middle + d, column] for d in (-1, 0, 1))
    bend = left - 2 * top + right
    fine = np.where(bend < 0, 0.5 * (left - right) / np.where(bend < 0, bend, 1.0), 0.0)
    steps = np.where(best == middle, middle + np.clip(fine, -0.5, 0.5), best) - reach
    alike = np.isfinite(correlation(sim, real, usable)) & (score.max(axis=0) > ALIKE)
    return np.where(alike, 1000 * steps / rate, np.nan)


def _overlap(a: np.ndarray, b: np.ndarray, shift: int) -> np.ndarray:
    """Correlation of a[t] with b[t + shift] over the samples they share."""
    length = a.shape[1]
    left = a[:, max(0, -shift) : length - max(0, shift)]
    right = b[:, max(0, shift) : length + min(0, shift)]
    norm = np.sqrt((left**2).sum(axis=(0, 1)) * (right**2).sum(axis=(0, 1)))
    return (left * right).sum(axis=(0, 1)) / np.where(norm > 0, norm, 1.0)


def torque_rmse(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """Root mean square of simulated minus logged joint torque, N·m."""
    return rmse(np.where(usable, sim - real, np.nan))


# Body metrics: positions are (W, T+1, B, 3) m, `usable` (W, T+1). They return one number.


def _mean_distance(difference: np.ndarray, usable: np.ndarray) -> float:
    distance = np.linalg.norm(difference, axis=-1)[usable]
    return float(distance.mean()) if distance.size else float("nan")


def e_g_mpjpe(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> float:
    """Global mean per-body position error, mm."""
    return 1000 * _mean_distance(sim - real, usable)


def e_mpjpe(
    sim: np.ndarray,
    real: np.ndarray,
    sim_root: np.ndarray,
    real_root: np.ndarray,
    usable: np.ndarray,
) -> float:
    """Mean per-body position error relative to each side's own root (translation only), mm."""
    return 1000 * _mean_distance((sim - sim_root) - (real - real_root), usable)


def e_vel(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> float:
    """Mean difference of per-frame body displacements over all bodies, mm/frame."""
    both = usable[:, 1:] & usable[:, :-1]
    return 1000 * _mean_distance(np.diff(sim - real, axis=1), both)


def e_acc(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> float:
    """Mean second difference of body positions between the two sides, mm/frame²."""
    three = usable[:, 2:] & usable[:, 1:-1] & usable[:, :-2]
    return 1000 * _mean_distance(np.diff(sim - real, n=2, axis=1), three)


def root_vel(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> float:
    """Mean difference of the roots' linear velocity, (W, T+1, 3) m/s."""
    return _mean_distance(sim - real, usable)


def survival(
    sim: np.ndarray,
    real: np.ndarray,
    usable: np.ndarray,
    alive: np.ndarray,
    steps: np.ndarray,
    rate: float,
    limit: float = 0.5,
) -> tuple[float, float]:
    """Share of windows in which the mean body distance never exceeds `limit` (m), and seconds.

    The seconds are how long a window of (W,) `steps` lasts before it does, mean over windows. A
    simulation that diverged (`alive` False, (W, T+1)) fails at that moment.
    """
    far = np.linalg.norm(np.nan_to_num(sim - real), axis=-1).mean(axis=-1) > limit
    failed = (far & usable) | ~alive
    first = np.where(failed.any(axis=1), failed.argmax(axis=1), steps)
    return float(np.mean(~failed.any(axis=1))), float(first.mean() / rate)


def point_offset(sim: np.ndarray, real: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """(P, 3) mean |Δ| of each end effector along X, Y and Z, cm."""
    difference = np.abs(sim - real)[usable]
    empty = np.full(sim.shape[2:], np.nan)
    return 100 * difference.mean(axis=0) if len(difference) else empty
