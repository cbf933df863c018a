"""Data files: episodes are written one after another and read back by row group."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import fails_by_machine
from gapless.recordings.parquet_tables import refuse_bomb
from gapless.recordings.store import lerobot

ROWS_PER_GROUP = 65536


def shard_path(root: Path, chunk: int, file: int) -> Path:
    """Path of a data file in a dataset folder."""
    return root / "data" / lerobot.SHARD.format(chunk=chunk, file=file)


@dataclass(frozen=True)
class Shard:
    """One data file."""

    path: Path
    bytes: int
    metadata: pq.FileMetaData
    ends: tuple[int, ...]
    """Row after the last one of each row group."""

    @classmethod
    def open(cls, path: Path) -> Shard:
        """Read the footer of a data file."""
        metadata = pq.read_metadata(path)
        refuse_bomb(metadata, path.stat().st_size, str(path))
        rows = (metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
        return cls(path, path.stat().st_size, metadata, tuple(accumulate(rows)))

    def groups(self, start: int, stop: int) -> tuple[list[int], int]:
        """Row groups that hold rows start:stop, and how many rows come before the first."""
        first = bisect_right(self.ends, start)
        last = bisect_right(self.ends, stop - 1)
        return list(range(first, last + 1)), self.ends[first - 1] if first else 0

    def read(self, start: int, stop: int, columns: list[str]) -> pa.Table:
        """Rows start:stop, touching only the row groups that hold them."""
        groups, skipped = self.groups(start, stop)
        try:
            with pq.ParquetFile(
                self.path, metadata=self.metadata, page_checksum_verification=True
            ) as file:
                # With little memory threads cannot be started, and a sound file is not read.
                table = file.read_row_groups(groups, columns, use_threads=False)
            table.validate(full=True)  # a damaged file may decode to offsets that lead astray
        except (OSError, ValueError, pa.ArrowException) as error:
            if fails_by_machine(error):
                raise
            raise FormatError(
                f"{self.path} ({self.bytes} bytes) is damaged: {error}; restore the file"
            ) from error
        return table.slice(start - skipped, stop - start)


def samples_writer(sink: pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of samples; they hardly repeat, so that a dictionary would only cost time."""
    return pq.ParquetWriter(sink, schema, use_dictionary=False, write_page_checksum=True)


class ShardWriter:
    """Data files of about FILE_MEGABYTES; an episode is never cut, and starts a row group."""

    def __init__(self, root: Path, schema: pa.Schema) -> None:
        self.root, self.schema = root, schema
        self.number = -1
        self._open: tuple[pa.NativeFile, pq.ParquetWriter] | None = None

    def write(self, table: pa.Table) -> tuple[int, int]:
        """Write one episode and return the chunk and the file it is in."""
        _, writer = self._room(table.nbytes)
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        return divmod(self.number, lerobot.CHUNK_FILES)

    def _room(self, size: int) -> tuple[pa.NativeFile, pq.ParquetWriter]:
        """The current file if it has room for so many bytes, or the next one."""
        limit = lerobot.FILE_MEGABYTES * 2**20
        if self._open is None or self._open[0].tell() + size > limit:
            self.close()
            self.number += 1
            path = shard_path(self.root, *divmod(self.number, lerobot.CHUNK_FILES))
            path.parent.mkdir(parents=True, exist_ok=True)
            sink = pa.OSFile(str(path), "wb")
            self._open = sink, samples_writer(sink, self.schema)
        return self._open

    def close(self) -> None:
        """Finish the current file."""
        if self._open is not None:
            sink, writer = self._open
            self._open = None
            with sink:
                writer.close()


class Parking:
    """Episodes on disk until all channels of the dataset are known, in order of arrival.

    Neighbours with the same columns share an Arrow file, because a file for each of many short
    episodes would cost more than its samples.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths: list[Path] = []
        self._open: tuple[pa.NativeFile, pa.ipc.RecordBatchStreamWriter, pa.Schema] | None = None
        folder.mkdir()

    def add(self, columns: Mapping[str, pa.Array]) -> None:
        """Keep one episode."""
        batch = pa.record_batch(columns)
        self._room(batch.schema).write_batch(batch)

    def _room(self, schema: pa.Schema) -> pa.ipc.RecordBatchStreamWriter:
        if self._open is not None:
            sink, writer, known = self._open
            if known == schema and sink.tell() < lerobot.FILE_MEGABYTES * 2**20:
                return writer
            self.close()
        path = self.folder / f"{len(self._paths):06d}.arrow"
        sink = pa.OSFile(str(path), "wb")
        self._paths.append(path)
        self._open = sink, pa.ipc.new_stream(sink, schema), schema
        return self._open[1]

    def episodes(self) -> Iterator[pa.RecordBatch]:
        """Give every episode back once; what was given back leaves the disk."""
        self.close()
        for path in self._paths:
            with pa.memory_map(str(path)) as source:
                yield from pa.ipc.open_stream(source)
            path.unlink()
        self._paths = []

    def close(self) -> None:
        """Finish the current file."""
        if self._open is not None:
            sink, writer, _ = self._open
            self._open = None
            with sink:
                writer.close()


def complete(batch: pa.RecordBatch, features: Mapping[str, lerobot.Feature]) -> pa.Table:
    """One episode with every column of the dataset; absent channels are NaN."""
    there = dict(zip(batch.schema.names, batch.columns, strict=True))
    absent = {k: _absent(f, len(there["index"])) for k, f in features.items() if k not in there}
    columns = there | absent
    return pa.table({key: columns[key] for key in (*features, *lerobot.INDEX)})


def _absent(feature: lerobot.Feature, frames: int) -> pa.Array:
    return feature.pack(np.full((frames, len(feature.names)), np.nan, np.float32))
