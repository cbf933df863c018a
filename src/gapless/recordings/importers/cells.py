"""CSV files, and cells that hold a list of numbers: parsed in C, never evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from gapless.errors import FormatError, nearest
from gapless.recordings.importers.size_limits import (
    MAX_CELL_CHARS,
    MAX_TEXT_BYTES,
    check_file,
    reading,
)

pc: Any = pyarrow.compute  # its functions are made at import, unseen by type checkers

MISSING = ("not_valid", "", "None", "null")
"""How loggers spell "nothing here"."""


def read_csv(path: Path) -> pa.Table:
    """Read a CSV file; header names are stripped of blanks.

    Raises:
        FormatError: the file is empty, not text, or its rows differ in length.
    """
    size = check_file(path, MAX_TEXT_BYTES, "a CSV file")
    options = pyarrow.csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True)
    with reading(f"{path} ({size} bytes)", "a CSV file"):
        table = pyarrow.csv.read_csv(path, convert_options=options)
        table = table.rename_columns([str(name).strip() for name in table.column_names])
    if table.num_rows == 0:
        raise FormatError(f"{path} has a header and 0 rows; a log needs at least two samples")
    return table


def column(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    """A column by its header, upper and lower case alike."""
    for index, header in enumerate(table.column_names):
        if header.lower() == name.lower():
            return table.column(index)
    raise FormatError(
        f"{path} has no column {name!r}.{nearest(name, table.column_names)} "
        f"It has: {', '.join(table.column_names)}"
    )


def has_values(table: pa.Table, name: str) -> bool:
    """Whether a column exists and is filled somewhere."""
    lower = [header.lower() for header in table.column_names]
    return name in lower and table.column(lower.index(name)).null_count < table.num_rows


def numbers(values: pa.ChunkedArray, where: str) -> np.ndarray:
    """(T,) floats of a plain column; missing cells are NaN."""
    with reading(where, "a column of numbers"):
        return values.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)


def lists(values: pa.ChunkedArray, where: str) -> np.ndarray:
    """(T, k) floats of a column whose cells are lists written as text, "[1, 2, 3]".

    Raises:
        FormatError: a cell is absurdly long, is not a list of numbers, or the lengths differ.
    """
    with reading(where, "a column of lists"):
        text = pc.fill_null(pa.concat_arrays(values.chunks).cast(pa.string()), "")
    longest = pc.max(pc.binary_length(text)).as_py() or 0
    if longest > MAX_CELL_CHARS:
        raise FormatError(f"{where}: a cell has {longest} characters, above {MAX_CELL_CHARS}")
    missing = pc.equal(text, "").to_numpy(zero_copy_only=False)
    if missing.all():
        raise FormatError(f"{where} is empty in all {len(text)} rows")
    parts = pc.split_pattern(pc.ascii_trim(text.filter(~missing), " []()"), ",")
    width = _width(parts, where)
    values = _floats(parts.flatten(), where).reshape(-1, width)
    if not missing.any():
        return values
    result = np.full((len(text), width), np.nan)
    result[~missing] = values
    return result


def _width(parts: pa.ListArray, where: str) -> int:
    lengths = np.unique(pc.list_value_length(parts).to_numpy())
    if len(lengths) > 1:
        raise FormatError(f"{where}: lists of different lengths in one column: {lengths.tolist()}")
    return int(lengths[0])


def _floats(tokens: pa.Array, where: str) -> np.ndarray:
    try:
        return pc.ascii_trim_whitespace(tokens).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise FormatError(
            f"{where}: a cell is not a list of numbers and is never evaluated: {str(error)[:200]}"
        ) from error
