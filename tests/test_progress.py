"""One event for everything long: how much is done, how much there is, how long it will take."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gapless import progress as module
from gapless.progress import Progress, ProgressReporter


@dataclass(frozen=True)
class Loaded(Progress):
    """An event that carries something."""

    load: str = ""


def test_a_share_is_known_where_the_total_is() -> None:
    """And never more than one."""
    assert Progress("work", 3, 4).share == 0.75
    assert Progress("work", 5, 4).share == 1.0
    assert Progress("work", 5).share == 0.0


def test_a_part_is_told_within_a_larger_stage() -> None:
    """With everything that it carries."""
    inner = Loaded("training", 3, 4, {"loss": 0.1}, 7.0, load="a correction")
    assert inner.within("corrected") == Loaded(
        "corrected, training", 3, 4, {"loss": 0.1}, 7.0, load="a correction"
    )
    assert Progress("").within("raw").stage == "raw"


def test_the_time_left_goes_by_the_pace_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of an earlier run took no time in this one."""
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    told: list[Progress] = []
    reporter = ProgressReporter(told.append, "work", 10, begun=4)
    reporter.tell(4)
    clock[0] += 6.0
    reporter.tell(6, {"error": 0.5})
    reporter.tell(10)
    assert [now.seconds_left for now in told] == [None, 12.0, 0.0]
    assert told[1] == Progress("work", 6, 10, {"error": 0.5}, 12.0)


def test_nobody_need_watch() -> None:
    """And an unknown total has no time left."""
    ProgressReporter(None, "work", 10).tell(3)
    assert ProgressReporter(None, "work").at(3).seconds_left is None
