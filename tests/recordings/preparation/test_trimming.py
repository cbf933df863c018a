"""Trimming by time, and gains of which a log states one only."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import prepare
from gapless.recordings.rawlog import Stream, Trim
from gapless.robots import Robot
from raw_logs import arm_log, on_clock


@pytest.mark.parametrize(
    ("trim", "first", "last"),
    [((2.0, 6.0), 100, 300), ((1.0, -2.5), 50, 274), ((3.0, 0.0), 150, 399)],
)
def test_a_stretch_is_the_rest_of_the_log(so101: Robot, trim: Trim, first: int, last: int) -> None:
    """Sample by sample, also on a clock that does not begin at zero; the notes say so."""
    log = arm_log(so101)
    late = on_clock(log, log.streams["q"].time + 1.7e9)
    (recording,) = prepare(late, so101, ImportOptions(trim=trim), 50).recordings
    np.testing.assert_allclose(recording.q, log.streams["q"].values[first : last + 1], atol=1e-6)
    assert any("trimmed to" in note for note in recording.provenance["notes"])


def test_streams_of_other_clocks_are_cut_at_the_same_times(so101: Robot) -> None:
    """Commands at another rate keep their places; the user's word goes before the mapping's."""
    log = replace(arm_log(so101), pairing="timestamps", trim=(0.0, 2.0))
    target = log.streams["target"]
    sparse = Stream(target.time[::2], target.values[::2])
    log = replace(log, streams={**log.streams, "target": sparse})
    (recording,) = prepare(log, so101, ImportOptions(trim=(2.0, 6.0)), 50).recordings
    assert recording.target is not None
    np.testing.assert_allclose(recording.target[::2], target.values[100:301:2], atol=1e-9)


def test_what_leaves_nothing_is_refused(so101: Robot) -> None:
    """With the length of the log; a stretch that is none is refused before."""
    with pytest.raises(DataError, match=r"9 s to the end leaves 0 of 400 samples.*lasts 7\.98 s"):
        prepare(arm_log(so101), so101, ImportOptions(trim=(9.0, 0.0)), 50)
    with pytest.raises(DataError, match="--trim 3 2 is no stretch of time"):
        ImportOptions(trim=(3.0, 2.0))


def test_the_gain_that_a_log_leaves_open_is_the_robots(so101: Robot) -> None:
    """NaN never reaches a recording."""
    joint, other = so101.joints.names[:2]
    told = Conditions(gains={joint: (7.0, nan), other: (nan, 0.3)})
    log = replace(arm_log(so101), conditions=told)
    (recording,) = prepare(log, so101, ImportOptions(), 50).recordings
    assert recording.conditions.gains == {
        joint: (7.0, so101.joints.kd[0]),
        other: (so101.joints.kp[1], 0.3),
    }
