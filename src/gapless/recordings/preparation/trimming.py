"""Trimming by time: the stretch of a log that is used."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from gapless.errors import DataError
from gapless.recordings.rawlog import RawLog, Stream, Trim

LEAST = 2
"""Samples that must be left."""


def kept_rows(time: np.ndarray, trim: Trim, span: tuple[float, float] | None = None) -> np.ndarray:
    """(T,) rows of a clock in seconds that lie in the stretch.

    Args:
        time: (T,) seconds.
        trim: start and end, counted from the log's first sample; an end of 0 or less is counted
            from its last one.
        span: first and last time of the log, where the clock is of one of its streams only.
    """
    first, last = span or (float(np.nanmin(time)), float(np.nanmax(time)))
    start, end = first + trim[0], (first if trim[1] > 0 else last) + trim[1]
    return (time >= start) & (time <= end)


def trimmed(log: RawLog, trim: Trim | None) -> RawLog:
    """The log (clocks in seconds) with that stretch only, which its notes say.

    Raises:
        DataError: fewer than two samples are left.
    """
    if trim is None:
        return log
    clock = log.streams["q"].time
    span = float(np.nanmin(clock)), float(np.nanmax(clock))
    left = int(kept_rows(clock, trim, span).sum())
    if left < LEAST:
        raise DataError(
            f"trimming to {_words(trim)} leaves {left} of {len(clock)} samples: the log lasts "
            f"{span[1] - span[0]:.2f} s"
        )
    streams = {}
    for name, stream in log.streams.items():
        rows = kept_rows(stream.time, trim, span)
        streams[name] = Stream(stream.time[rows], stream.values[rows])
    words = f"trimmed to {_words(trim)}: {left} of {len(clock)} samples were kept"
    return replace(log, streams=streams, notes=(*log.notes, words))


def trim_problem(trim: Trim) -> str | None:
    """What is wrong with a stretch, whatever the log."""
    start, end = trim
    if 0 <= start < inf and end > -inf and (end <= 0 or end > start):
        return None
    return (
        f"{start:g} {end:g} is no stretch of time; expected a start of 0 s or more and a later end "
        "(0 or less is counted from the end of the log), for example 2 30, or 1 -0.5"
    )


def _words(trim: Trim) -> str:
    start, end = trim
    until = f"{end:g} s" if end > 0 else f"{-end:g} s before the end" if end else "the end"
    return f"{start:g} s to {until}"
