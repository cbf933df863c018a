"""Resampling: exact at samples, held commands, nothing across a gap."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gapless.recordings.preparation import resample

steps = st.lists(st.floats(0.005, 0.05), min_size=4, max_size=40)


def clocked(intervals, seed=0):
    """A clock with these intervals and random values on it."""
    time = np.r_[0.0, np.cumsum(intervals)]
    return time, np.random.default_rng(seed).normal(size=(len(time), 2))


@given(steps)
def test_linear_is_exact_at_samples(intervals):
    """A grid point on a sample returns that sample, bit for bit."""
    time, values = clocked(intervals)
    assert np.array_equal(resample.Resampler(time, time, 1.0).linear(values), values)


@given(steps, st.integers(10, 200))
def test_linear_stays_between_its_neighbours(intervals, rate):
    """No overshoot, no value outside the range of the two samples around it."""
    time, values = clocked(intervals)
    at = resample.grid(0.0, time[-1], rate)
    out = resample.Resampler(time, at, 1.0).linear(values)
    left = np.clip(np.searchsorted(time, at, side="right") - 1, 0, len(time) - 2)
    low = np.minimum(values[left], values[left + 1]) - 1e-6
    high = np.maximum(values[left], values[left + 1]) + 1e-6
    assert np.isfinite(out).all()
    assert np.all((out >= low) & (out <= high))


@given(steps, st.integers(0, 38), st.floats(0.2, 2.0))
def test_nothing_crosses_a_gap(intervals, where, gap):
    """Strictly inside a gap there is no state; outside of it all states are there."""
    where = where % len(intervals)
    intervals[where] = gap
    time, values = clocked(intervals)
    at = resample.grid(0.0, time[-1], 100)
    out = resample.Resampler(time, at, 0.1).linear(values)
    slack = 1e-6
    inside = (at > time[where] + slack) & (at < time[where + 1] - slack)
    assert np.isnan(out[inside]).all()
    outside = (at < time[where] - slack) | (at > time[where + 1] + slack)
    assert np.isfinite(out[outside]).all()


@given(steps)
def test_commands_are_held_not_blended(intervals):
    """Every resampled command is one that was issued, and the one in force at its own time."""
    time, values = clocked(intervals)
    at = resample.grid(0.0, time[-1], 50)
    out = resample.Resampler(time, at, 1.0).held(values)
    index = [np.flatnonzero((values == row).all(axis=1)) for row in out]
    assert all(len(i) == 1 for i in index)
    half = 0.5 * min(0.02, np.median(np.diff(time)))
    assert all(time[i[0]] <= t + half for i, t in zip(index, at, strict=True))


def test_jitter_does_not_shift_commands():
    """A command that is issued a little after its grid point still acts from that point."""
    rng = np.random.default_rng(3)
    at = np.arange(200) / 50
    time = at + rng.uniform(-0.004, 0.004, len(at))
    values = np.arange(200.0)[:, None]
    assert np.array_equal(resample.Resampler(time, at, 0.1).held(values), values)


def test_a_command_acts_from_the_grid_point_its_time_rounds_to():
    """Less than half an interval late counts as in time; more is the next step's."""
    at, values = np.arange(4) / 50, np.arange(4.0)[:, None]
    late = [resample.Resampler(at + d, at, 0.1).held(values)[1:, 0] for d in (0.009, 0.011)]
    assert [x.tolist() for x in late] == [[1, 2, 3], [0, 1, 2]]


def test_grid_points_between_missing_samples_are_known():
    """Bridged is what lies between samples further apart than usual, and on none of them."""
    time = np.delete(np.arange(10) / 50, [4, 5])
    found = resample.Resampler(time, np.arange(10) / 50, 0.1).bridged
    assert np.flatnonzero(found).tolist() == [4, 5]
    assert not resample.Resampler(time[:4], np.arange(7) / 100, 0.1).bridged.any()


def test_old_commands_are_not_held_forever():
    """A command older than the largest gap is unknown, as is one before the first."""
    time, values = np.array([1.0, 1.02, 1.04]), np.ones((3, 1))
    out = resample.Resampler(time, np.array([0.5, 1.03, 1.1, 2.0]), 0.1).held(values)[:, 0]
    assert np.isnan(out).tolist() == [True, False, False, True]


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_rotations_ignore_sign_flips(seed):
    """Flipping the sign of any quaternion of a log changes nothing."""
    rng = np.random.default_rng(seed)
    time = np.arange(30) / 50
    angle = np.cumsum(rng.normal(scale=0.1, size=30))
    quats = np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=1)
    flipped = quats * rng.choice([-1.0, 1.0], 30)[:, None]
    at = resample.grid(0, time[-1], 120)
    a, b = (resample.Resampler(time, at, 0.1).rotations(q) for q in (quats, flipped))
    np.testing.assert_allclose(a * np.sign(a[:1, :1]), b * np.sign(b[:1, :1]), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(b, axis=1), 1.0)
    assert np.all(np.sum(b[1:] * b[:-1], axis=1) > 0)


def test_fill_repeats_the_last_value():
    """Fillers are the last finite value, the first one at the start, zero where there is none."""
    values = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, np.nan], [np.nan, 3.0, np.nan]])
    assert resample.fill(values).tolist() == [[2, 1, 0], [2, 1, 0], [2, 3, 0]]


def test_slope_does_not_look_across_masked_samples():
    """Velocities beside a gap come from their own side."""
    q = np.r_[np.arange(5.0), 100 + 2 * np.arange(5.0)][:, None]
    mask = np.ones_like(q, dtype=bool)
    mask[4] = False
    speed = resample.slope(q, mask, rate=1.0)[:, 0]
    assert speed.tolist() == [1, 1, 1, 1, 0, 2, 2, 2, 2, 2]
