"""Logs of a source: which are left out, and what stops the whole import."""

from __future__ import annotations

import errno
from collections.abc import Iterable

import pytest

from gapless.recordings.importers.source_files import collect
from gapless.recordings.rawlog import RawLog


def failing(error: Exception):
    """A reader that meets only this."""

    def load(item: str) -> Iterable[RawLog]:
        raise error

    return load


AT_ITS_LIMITS = (
    MemoryError(),
    OSError(errno.EMFILE, "Too many open files"),
    RuntimeError("can't start new thread"),
)


@pytest.mark.parametrize("error", AT_ITS_LIMITS)
def test_a_machine_at_its_limits_leaves_no_log_out(error: Exception) -> None:
    """A dataset that lacks logs for want of memory would look complete."""
    with pytest.raises(type(error)):
        list(collect(["one"], failing(error), []))


@pytest.mark.parametrize("error", [ValueError("bad"), OSError("Not an Arrow file"), KeyError("q")])
def test_a_damaged_log_is_left_out_and_named(error: Exception) -> None:
    """Whatever a reader makes of it."""
    problems: list[str] = []
    assert not list(collect(["one"], failing(error), problems))
    assert len(problems) == 1 and problems[0].startswith("one")
