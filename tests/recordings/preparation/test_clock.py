"""The clock of a log: unit and order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapless.errors import DataError
from gapless.recordings.preparation import clock


@pytest.mark.parametrize(("unit", "scale"), [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_unit_is_inferred_from_the_sampling_interval(unit, scale):
    """50 Hz in any unit is recognised, also on a Unix clock."""
    time = np.arange(100) * 0.02 * scale
    assert clock.infer_unit(time, None) == unit
    assert clock.infer_unit(time + 1.7e9 * scale, None) == unit


def test_declared_unit_is_checked():
    """A wrong declaration is refused and the plausible unit is named."""
    with pytest.raises(DataError, match="'ms' would be plausible"):
        clock.infer_unit(np.arange(100) * 20.0, "s")


@pytest.mark.parametrize("step", [0.2, 200.0, 0.0])
def test_ambiguous_unit_is_refused(step):
    """An interval that fits two units, or none, needs a declaration."""
    with pytest.raises(DataError, match="--time-unit"):
        clock.infer_unit(np.arange(50) * step, None)


def test_duplicates_are_dropped_and_counted():
    """The first row of a repeated time stamp is kept."""
    order = clock.order(np.array([0.0, 0.02, 0.02, 0.04, np.nan, 0.06]))
    assert order.duplicates == 2
    assert order.groups[0].tolist() == [0, 1, 3, 5]


def test_late_packets_are_sorted_back():
    """A few rows out of order are unambiguous."""
    time = np.arange(100) * 0.02
    time[[10, 11]] = time[[11, 10]]
    order = clock.order(time)
    assert (len(order.groups), order.late, order.duplicates) == (1, 1, 0)
    assert np.all(np.diff(time[order.groups[0]]) > 0)


def test_a_restart_starts_a_group():
    """A clock that goes back to zero, or wraps, is never sorted together."""
    time = np.r_[np.arange(50) * 0.02, np.arange(60) * 0.02]
    order = clock.order(time)
    assert [len(g) for g in order.groups] == [50, 60]


def test_interleaved_clocks_are_split_not_sorted():
    """Going back by a few samples again and again is not late delivery."""
    time = np.concatenate([np.arange(8) * 0.02 + 0.071 * k for k in range(10)])
    order = clock.order(time)
    assert len(order.groups) > 1
    assert order.late == 0


@given(st.lists(st.floats(-5, 50), min_size=2, max_size=60))
def test_groups_increase_and_lose_nothing(times):
    """Every row is in exactly one group or counted, and groups increase strictly."""
    time = np.array(times)
    order = clock.order(time)
    used = np.concatenate(order.groups)
    assert len(set(used.tolist())) == len(used) == len(time) - order.duplicates
    assert all(np.all(np.diff(time[g]) > 0) for g in order.groups)
