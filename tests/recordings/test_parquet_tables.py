"""Parquet files that would fill the memory are refused by what they would become."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gapless.errors import FormatError
from gapless.recordings.parquet_tables import read_parquet
from gapless.recordings.store.shards import Shard

MANY = 40_000_000


def repeated(path: Path, kind: str) -> Path:
    """A file of a few kB whose one column repeats one value."""
    count = MANY if kind != "text" else 4000
    value = {"number": 1.0, "list": 1.0, "text": "x" * 100_000}[kind]
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value]))
    if kind == "list":
        flat = pa.array(np.ones(MANY, np.float32))
        column = pa.ListArray.from_arrays(pa.array([0, MANY], pa.int32()), flat)
    pq.write_table(pa.table({"q": column}), path, compression="zstd")
    return path


@pytest.mark.parametrize("kind", ["number", "list", "text"])
def test_a_few_bytes_do_not_become_gigabytes(kind: str, tmp_path: Path) -> None:
    """Before they are decoded."""
    path = repeated(tmp_path / "bomb.parquet", kind)
    assert path.stat().st_size < 300_000
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(FormatError, match="decompression bomb"):
        read_parquet(path)
    assert pa.total_allocated_bytes() - before < 50e6
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    if kind != "text":  # data of our own format has no texts
        with pytest.raises(FormatError, match="decompression bomb"):
            Shard.open(path)


def test_ordinary_tables_are_read_as_they_are(tmp_path: Path) -> None:
    """Numbers, lists and texts, with what the schema says beside them."""
    names = ["run", None, "walk"] * 400
    table = pa.table(
        {"name": names, "q": [[1.0, 2.0]] * 1200, "tags": [["a"], [], ["b", "c"]] * 400}
    ).replace_schema_metadata({"by": "us"})
    pq.write_table(table, tmp_path / "a.parquet")
    found = read_parquet(tmp_path / "a.parquet")
    assert found.to_pydict() == table.to_pydict()
    assert found.schema.metadata[b"by"] == b"us"
    assert found.schema.field("name").type == pa.string()
    assert read_parquet(tmp_path / "a.parquet", ["q"]).column_names == ["q"]
