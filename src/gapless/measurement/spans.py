"""Spans: the stretches of a recording that a replay may cross, and the samples around them."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError

FULL = "full"
Horizon = float | str
"""Seconds, or FULL for the whole clip."""


def parse_horizon(text: str) -> Horizon:
    """A horizon as typed: seconds above zero, or "full"."""
    if text == FULL:
        return FULL
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not 0 < seconds < float("inf"):
        raise DataError(f"horizon {text!r} is neither a number of seconds above 0 nor 'full'")
    return seconds


def spans_of(
    valid: np.ndarray, rate: float, horizon: Horizon, limit: int | None = None
) -> np.ndarray:
    """(W, 2) first and last sample of the spans that cross no frame which is not (T,) valid.

    Spans of a horizon follow each other without overlap; "full" gives one for each
    unbroken stretch. With `limit`, that many are kept, as `spread` does.
    """
    steps = None if horizon == FULL else max(1, round(float(horizon) * rate))
    found = []
    for first, last in unbroken(valid):
        if steps is None:
            found.append((first, last))
        else:
            found += [(s, s + steps) for s in range(first, last - steps + 1, steps)]
    found = np.array([w for w in found if w[1] > w[0]], dtype=int).reshape(-1, 2)
    return found if limit is None else spread(found, limit)


def spread(found: np.ndarray, limit: int, phase: float = 0.5) -> np.ndarray:
    """At most `limit` of the rows, one of each of as many equal parts.

    Args:
        found: (W, ...) rows in order.
        limit: how many.
        phase: where in its part each is taken, from 0 to 1. The middle by default: recordings
            begin and end at rest, where little is to be seen.
    """
    if len(found) <= limit:
        return found
    return found[((np.arange(limit) + phase) * len(found) / limit).astype(int)]


def unbroken(valid: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], valid, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2)]


def samples(spans: np.ndarray, begin: int, end: int) -> np.ndarray:
    """(W, end - begin) samples from `begin` to `end`, counted from the first of each (W, 2) span.

    Before the recording its first sample is held, after a span its last.
    """
    return np.clip(spans[:, :1] + np.arange(begin, end), 0, spans[:, 1:])
