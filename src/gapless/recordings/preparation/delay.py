"""How long after a command the joint responds, measured from the data.

The model is q[t] = a + g·target[t − lag]: the lag with the smallest residual, refined by a
parabola. Positions with one common offset, not velocities, because a constant-speed ramp then
still tells its lag; and no autoregressive part, because on smooth commands that part takes the
credit and puts the response before its command. Friction and compliance lengthen the lag, a
policy that reacts to q does not turn it negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gapless.recordings.recording import Recording

BLOCKS = 8
"""Parts of a recording whose disagreement gives the uncertainty."""
EARLIEST, LATEST = -0.3, 0.5
"""Range of lags that is searched, s."""
BUDGET = 2e7
"""Products summed for one recording; longer recordings are sampled in BLOCKS windows."""
MOVING = 0.01
"""Standard deviation (rad) a command must have for its joint to be asked."""

USUAL, ALIAS = 2, 0.03
"""Steps of delay expected of a robot, and the loss of fit at which two lags count as equal."""


@dataclass(frozen=True)
class Delay:
    """Lag from command to response, in steps of the grid; NaN where the data cannot tell.

    Attributes:
        lag: pooled over joints (weighted median).
        std: its standard error.
        joint_lag: (J,) per joint.
        joint_std: (J,) block jackknife.
        fit: (J,) share of the motion that the lagged command explains.
        confident: (J,) joints that took part in the pool.
        drift: change of the lag over the recording on which all joints agree.
        drift_std: its standard error.
    """

    lag: float
    std: float
    joint_lag: np.ndarray
    joint_std: np.ndarray
    fit: np.ndarray
    confident: np.ndarray
    drift: float = 0.0
    drift_std: float = 0.0

    @property
    def known(self) -> bool:
        """Whether at least one joint could tell."""
        return bool(np.isfinite(self.lag))


def estimate(recordings: Sequence[Recording]) -> Delay:
    """Measure the lag of recordings that share joints and rate, pooled as one body of data."""
    shifts = _shifts(min(len(r) for r in recordings), recordings[0].rate)
    usable = [r for r in recordings if r.target is not None and len(r) > shifts[-1] - shifts[0] + 4]
    seen = [r.mask.any(axis=0) for r in usable]
    used = np.flatnonzero(np.any(seen, axis=0)) if seen else np.zeros(0, int)
    if not len(used):
        nothing = np.full(len(recordings[0].joints), np.nan)
        return Delay(np.nan, np.nan, nothing, nothing, nothing, np.zeros(len(nothing), bool))
    blocks = 1 if len(usable) > 3 else BLOCKS
    sums = np.concatenate([_sums(r, shifts, blocks, used) for r in usable])
    if len(sums) > 2 * BLOCKS:
        # Every block takes some of each file, or a joint would live in one block only.
        sums = np.stack([sums[k::BLOCKS].sum(axis=0) for k in range(BLOCKS)])
    delay = _spread(_delay(sums, shifts), used, len(recordings[0].joints))
    return delay if len(recordings) == 1 else replace(delay, drift=0.0)


def _spread(delay: Delay, used: np.ndarray, joints: int) -> Delay:
    """Columns of the joints that were asked, put back among all joints."""
    lag, std, fit = (np.full(joints, np.nan) for _ in range(3))
    lag[used], std[used], fit[used] = delay.joint_lag, delay.joint_std, delay.fit
    confident = np.zeros(joints, dtype=bool)
    confident[used] = delay.confident
    return replace(delay, joint_lag=lag, joint_std=std, fit=fit, confident=confident)


def _delay(sums: np.ndarray, shifts: np.ndarray) -> Delay:
    total, count = sums.sum(axis=0), len(sums)
    # Everything, everything but one block (the jackknife), and each block alone (the drift).
    solved = _solve(np.concatenate([total[None], total - sums, sums]), shifts)
    lag, fit, inner, spread = (values[0] for values in solved)
    left_out = solved[0][1 : 1 + count]
    std = np.sqrt((count - 1) * np.var(left_out, axis=0)) if count > 1 else np.inf * lag
    confident = inner & (spread > MOVING) & (fit > 0.5) & (std < 0.5)
    pooled, error = _pool(lag, std, confident)
    drift = _drift(*(values[1 + count :] for values in solved))
    return Delay(pooled, error, lag, std, fit, confident, *drift)


def _drift(
    lag: np.ndarray, fit: np.ndarray, inner: np.ndarray, spread: np.ndarray
) -> tuple[float, float]:
    """Change of the lag over the recording that all joints share, and its standard error.

    A line through the blocks' lags; of the joints, the one that changes least, if all change in
    one direction: two clocks move every joint alike.
    """
    blocks = len(lag)
    use = (inner & (fit > 0.5) & (spread > MOVING)).all(axis=0)
    if blocks < BLOCKS or not use.any():
        return 0.0, 0.0
    x = np.linspace(-0.5, 0.5, blocks)[:, None]
    change = (x * lag[:, use]).sum(axis=0) / (x**2).sum()
    left = lag[:, use] - lag[:, use].mean(axis=0) - x * change
    error = np.sqrt((left**2).sum(axis=0) / (blocks - 2) / (x**2).sum())
    if np.any(np.sign(change) != np.sign(change[0])):
        return 0.0, float(error.max())
    least = int(np.argmin(np.abs(change)))
    return float(change[least]), float(error[least])


def _shifts(length: int, rate: float) -> np.ndarray:
    """Candidate lags: fewer for short clips, so that samples remain."""
    low = -min(max(4, round(-EARLIEST * rate)), max(length // 10, 2))
    return np.arange(low, min(max(6, round(LATEST * rate)), max(length // 5, 3)) + 1)


def _windows(length: int, shifts: np.ndarray, joints: int, blocks: int) -> list[tuple[int, int]]:
    """Rows of each block; a long recording is represented by a window of each block."""
    edges = np.linspace(shifts[-1], length + min(shifts[0], 0), blocks + 1).astype(int)
    size = int(max(4000, BUDGET / (len(shifts) * joints)) / blocks)
    return [(a, min(b, a + size)) for a, b in pairwise(edges.tolist())]


def _sums(recording: Recording, shifts: np.ndarray, blocks: int, used: np.ndarray) -> np.ndarray:
    """Moments of q and of each lagged command: (blocks, 6, shifts, used joints).

    Each is a sum over t of something of q[t] times something of target[t - lag], so all lags
    come from one correlation by Fourier transform.
    """
    assert recording.target is not None
    windows, lags = _windows(len(recording), shifts, len(used), blocks), shifts[-1] - shifts[0]
    length = 1 << int(max(b - a for a, b in windows) + lags - 1).bit_length()
    now, before = np.zeros((2, blocks, 3, len(used), length))
    for k, (a, b) in enumerate(windows):
        rows, earlier = slice(a, b), slice(a - shifts[-1], b - shifts[0])
        now[k, ..., : b - a] = _powers(recording.q, recording.mask, rows, used)
        before[k, ..., : b - a + lags] = _powers(recording.target, recording.mask, earlier, used)
    late, early = np.fft.rfft(now), np.fft.rfft(before)
    # Samples, x, y, x², xy, y², where x is the command and y the position.
    products = late[:, [0, 0, 1, 0, 1, 2]].conj() * early[:, [0, 1, 0, 2, 1, 0]]
    return np.fft.irfft(products, length)[..., lags::-1].swapaxes(2, 3)


def _powers(values: np.ndarray, mask: np.ndarray, rows: slice, used: np.ndarray) -> np.ndarray:
    """(3, joints, rows): whether a sample counts, its value, and the square of that."""
    counts = mask[rows, used].T
    known = np.where(counts, values[rows, used].T, 0.0)
    return np.array([counts, known, known * known])


def _solve(
    sums: np.ndarray, shifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Best lag, its share explained, whether it lies inside the range, and the command's spread.

    Args:
        sums: (N, 6, shifts, joints) moments.
        shifts: the lags tried.

    Returns:
        four (N, joints) arrays.
    """
    count, x, y, xx, xy, yy = sums.swapaxes(0, 1)
    n = np.maximum(count, 1.0)
    xx, xy, yy = xx - x * x / n, xy - x * y / n, yy - y * y / n
    # Rounding leaves a little variance in a constant column; it explains nothing.
    alive = (xx > 1e-9 * n) & (yy > 1e-9 * n)
    left = np.where(alive & (xy > 0), 1 - xy**2 / np.where(alive, xx * yy, 1.0), 1.0)
    best = _nearest_minimum(left, shifts)
    inner = (best > 0) & (best < len(shifts) - 1)
    middle = np.clip(best, 1, len(shifts) - 2)
    a, b, c = (_at(left, middle + d) for d in (-1, 0, 1))
    bend = a - 2 * b + c
    move = np.where(inner & (bend > 0), (a - c) / (2 * np.where(bend > 0, bend, 1.0)), 0.0)
    spread = np.sqrt(np.maximum(_at(xx / n, best), 0.0))
    return shifts[best] + move, 1 - _at(left, best), inner, spread


def _at(values: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The values (N, shifts, joints) at one shift for each of (N, joints)."""
    return np.take_along_axis(values, best[:, None], axis=1)[:, 0]


def _nearest_minimum(left: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Of equally good lags the one nearest to a robot's usual delay: periodic motion has many."""
    wall = np.full_like(left[:, :1], np.inf)
    before = np.concatenate([wall, left[:, :-1]], axis=1)
    after = np.concatenate([left[:, 1:], wall], axis=1)
    dip = (left <= before) & (left <= after)
    good = dip & (left <= left.min(axis=1, keepdims=True) + ALIAS)
    return np.argmin(np.where(good, np.abs(shifts - USUAL)[:, None], np.inf), axis=1)


def _pool(lag: np.ndarray, std: np.ndarray, use: np.ndarray) -> tuple[float, float]:
    """Weighted median and its standard error."""
    if not use.any():
        return np.nan, np.nan
    weight = 1.0 / (std[use] ** 2 + 0.05**2)
    order = np.argsort(lag[use])
    total = np.cumsum(weight[order])
    middle = int(np.searchsorted(total, 0.5 * total[-1]))
    return float(lag[use][order][middle]), float(total[-1] ** -0.5)


def distant_lag(recording: Recording) -> tuple[float, float]:
    """Lag over the whole recording's length, in steps, and the correlation there.

    Used where no lag in the usual range fits: it tells two clocks from a robot that did not move.
    """
    assert recording.target is not None
    rows = slice(0, 40_000)
    use = (recording.target[rows].std(axis=0) > MOVING) & recording.mask[rows].any(axis=0)
    if not use.any():
        return 0.0, 0.0
    q, target = (_standard(a[rows, use]) for a in (recording.q, recording.target))
    length = len(q)
    spectrum = np.fft.rfft(q, 2 * length, axis=0) * np.fft.rfft(target, 2 * length, axis=0).conj()
    total = np.fft.irfft(spectrum.mean(axis=1), 2 * length)
    # At lag k only T - |k| samples overlap; half of them must, or chance wins.
    lags = np.arange(-(length // 2), length // 2 + 1)
    score = total[lags] / (length - np.abs(lags))
    best = int(np.argmax(score))
    return float(lags[best]), float(score[best])


def _standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-9)
