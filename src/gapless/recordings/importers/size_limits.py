"""What no file may do: exceed these sizes, or fail in any way but a FormatError."""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gapless.errors import FormatError, GaplessError, lacks_memory

GIB = 1 << 30
MAX_TEXT_BYTES = 2 * GIB - 1
"""A CSV or JSON file; 29 joints at 50 Hz write about 0.4 GiB an hour."""
MAX_CELL_CHARS = 1 << 16
"""One cell of a CSV file that holds a list."""
MAX_ARRAY_BYTES = 8 * GIB
"""One array, as its header declares it."""
MAX_PICKLE_BYTES = 2 * GIB
"""A pickle after decompression."""
MAX_RATIO = 1000
"""Decompressed size over stored size; deflate cannot exceed 1032, and logs stay below 20."""
RATIO_FLOOR = 64 << 20
"""Ratios are judged only above this size: a small constant array compresses very well."""
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.EIO}
"""What an OSError says when the machine, not the file, is at fault."""


def check_file(path: Path, limit: int, what: str) -> int:
    """Return the size of a file, refusing empty and absurd ones."""
    size = path.stat().st_size
    if size == 0:
        raise FormatError(f"{path} is empty (0 bytes); {what} was expected. Copy the file again")
    if size > limit:
        raise FormatError(
            f"{path} is {size} bytes, above the limit of {limit} for {what}; split the log"
        )
    return size


def check_array(
    shape: Sequence[int], itemsize: int, where: str, limit: int = MAX_ARRAY_BYTES
) -> int:
    """Return the bytes of a declared array, refusing negative or absurd shapes."""
    if any(n < 0 for n in shape):
        raise FormatError(f"{where} declares the shape {tuple(shape)}; sizes cannot be negative")
    size = math.prod(shape) * itemsize
    if size > limit:
        raise FormatError(
            f"{where} declares {size} bytes (shape {tuple(shape)}), above the limit of "
            f"{limit}; the file is damaged or hostile"
        )
    return size


def check_ratio(stored: int, expanded: int, where: str) -> None:
    """Refuse what expands absurdly."""
    if expanded > RATIO_FLOOR and expanded > MAX_RATIO * max(stored, 1):
        raise FormatError(
            f"{where} expands {stored} bytes to {expanded} (more than {MAX_RATIO} times): "
            "a decompression bomb, not a log"
        )


def fails_by_machine(error: Exception) -> bool:
    """Whether an error says nothing about the file that was read."""
    return lacks_memory(error) or (isinstance(error, OSError) and error.errno in EXHAUSTED)


@contextmanager
def reading(where: str, what: str) -> Iterator[None]:
    """Turn whatever a reader raises on a damaged file into one error that says what to do.

    Only calls into file readers belong inside: they fail in too many ways to list. Where the
    machine is at fault the error stays: a log that was not read for want of memory is not damaged.
    """
    try:
        yield
    except GaplessError:
        raise
    except Exception as error:
        if fails_by_machine(error):
            raise
        raise FormatError(
            f"{where} is not {what} in full ({type(error).__name__}: {str(error)[:200]}): "
            "truncated, damaged or another format; copy the file again"
        ) from error
