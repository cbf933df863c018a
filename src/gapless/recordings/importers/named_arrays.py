"""Numbers of a log, checked for kind and shape with the file and key in the message."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS

PER_JOINT = ("q", "target", *JOINT_CHANNELS)
"""Streams with one column a joint."""


def width_of(channel: str, joints: int) -> int | None:
    """Columns of a stream for so many joints; None where any number will do."""
    return joints if channel in PER_JOINT else BODY_CHANNELS[channel][0]


def matrix(
    values: Any, where: str, rows: int | None = None, columns: int | None = None
) -> np.ndarray:
    """A (rows, columns) array of floats of its own.

    Args:
        values: an array, or nested lists.
        where: file and key, for messages.
        rows: how many there must be; None is any number.
        columns: how many there must be; None is any number.

    Raises:
        FormatError: it holds no numbers, or has another shape.
    """
    array = _floats(values, where)
    expected = (rows, columns)
    if array.ndim != 2 or any(
        e not in (None, n) for n, e in zip(array.shape, expected, strict=True)
    ):
        words = [("samples", "columns")[i] if e is None else str(e) for i, e in enumerate(expected)]
        raise FormatError(f"{where} has shape {array.shape}; ({', '.join(words)}) expected")
    return array


MOST = 1e300
"""Of a rate; a whole number of hundreds of digits is below infinity, and no float."""


def clock(values: Any, where: str) -> np.ndarray:
    """(T,) times, at least two of them; a column of times is one as well."""
    time = _floats(values, where).ravel()
    if len(time) < 2:
        raise FormatError(f"{where} holds {len(time)} samples; at least two are needed")
    return time


def positive(value: Any, where: str) -> float:
    """A rate: one finite number above zero."""
    size = np.size(value) if isinstance(value, np.ndarray | np.generic) else 1
    number = value.item() if isinstance(value, np.ndarray | np.generic) and size == 1 else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < MOST:
        raise FormatError(f"{where} is {str(value)[:60]!r}; a number above zero was expected")
    return float(number)


def _floats(values: Any, where: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of unequal length
        raise FormatError(f"{where} is not an array of numbers ({str(error)[:100]})") from error
    if array.dtype.kind not in "fiub":
        raise FormatError(f"{where} is not an array of numbers: it is {str(values)[:60]!r}")
    return array.astype(float)
