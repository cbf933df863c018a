"""Parquet tables of people nobody knows: what they would become is known before it is decoded.

A column of one repeated value takes some bytes in the file and gigabytes in memory, and no size
that the file states says so.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    check_array,
    check_file,
    check_ratio,
    reading,
)

WIDEST = 8
"""Bytes of the widest number."""
TEXT = "BYTE_ARRAY"


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file, checking first what it would become.

    Raises:
        FormatError: it is truncated, another format, or absurdly large.
    """
    size = check_file(path, MAX_ARRAY_BYTES, "a Parquet file")
    with reading(f"{path} ({size} bytes)", "a Parquet file"):
        metadata = pq.read_metadata(path)
        refuse_bomb(metadata, size, str(path))
        # Texts stay numbers of a dictionary until it is known how long they are together.
        file = pq.ParquetFile(path, read_dictionary=_texts(metadata))
        table = file.read(columns, use_threads=False)  # as in `Shard.read`
        table.validate(full=True)  # a damaged file may decode to offsets that lead astray
        return _decoded(table, size, str(path))


def refuse_bomb(metadata: pq.FileMetaData, size: int, where: str) -> None:
    """Refuse a file whose numbers alone would be absurdly many.

    Raises:
        FormatError: by what its footer says, or because that contradicts itself.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if any(g.total_byte_size < 0 or g.num_rows < 0 for g in groups):
        raise FormatError(f"{where} states a size below 0; the file is damaged or hostile")
    check_array((sum(g.total_byte_size for g in groups),), 1, where)
    values = sum(g.column(c).num_values for g in groups for c in range(g.num_columns))
    rows = metadata.num_rows * metadata.num_columns
    check_ratio(size, check_array((max(values, rows),), WIDEST, where), where)


def _texts(metadata: pq.FileMetaData) -> list[str]:
    """Columns of texts that are not in lists, which a dictionary cannot hold."""
    schema = metadata.schema
    columns = (schema.column(i) for i in range(len(schema)))
    return [c.path for c in columns if c.physical_type == TEXT and c.max_repetition_level == 0]


def _decoded(table: pa.Table, size: int, where: str) -> pa.Table:
    """The table with its texts written out, where they are not absurdly long together."""
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if not pa.types.is_dictionary(column.type):
            continue
        long = sum(_length(chunk) for chunk in column.chunks)
        check_ratio(size, check_array((long,), 1, where), f"{where}: {name}")
        table = table.set_column(i, name, column.cast(column.type.value_type))
    return table


def _length(chunk: pa.DictionaryArray) -> int:
    """Letters of all values of a chunk."""
    lengths = pc.call_function("binary_length", [chunk.dictionary])
    return pc.call_function("sum", [pc.take(lengths, chunk.indices)]).as_py() or 0
