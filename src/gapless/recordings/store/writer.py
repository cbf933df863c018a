"""Writing a dataset: recordings come one at a time, and the folder appears when all are in.

Each recording is first parked in the staging folder, because only the last one settles which
channels the dataset has. Memory holds one recording at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gapless import artifact
from gapless.errors import DataError
from gapless.recordings.recording import Recording
from gapless.recordings.store import lerobot, statistics
from gapless.recordings.store.entries import (
    Entry,
    Header,
    encode,
    episode_table,
    write_json_files,
)
from gapless.recordings.store.shards import Parking, ShardWriter, complete

EPISODES_PER_GROUP = 256
PARKED = "parked"


class DatasetWriter:
    """Write a dataset as a context manager; nothing appears unless the block ends well.

    Args:
        path: the dataset folder to make.
        robot: name of the robot.
        joints: joint names, in the order every recording has them.
        rate: samples per second, a whole number (LeRobot counts in whole frames).
        provenance: where the recordings come from.
        overwrite: replace a dataset that is already there.
    """

    def __init__(
        self,
        path: str | Path,
        robot: str,
        joints: Sequence[str],
        rate: float,
        provenance: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.path = Path(path)
        self.header = Header(self.path.name, robot, tuple(joints), rate, dict(provenance or {}))
        self._overwrite = overwrite
        self._entries: list[Entry] = []
        self._features: dict[str, lerobot.Feature] = {}
        self._tasks: dict[str, int] = {}
        self._frames = 0
        self._stack = ExitStack()

    def __enter__(self) -> DatasetWriter:
        self._folder = self._stack.enter_context(artifact.staged(self.path, self._overwrite))
        self._parking = Parking(self._folder / PARKED)
        self._stack.callback(self._parking.close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            self._finish()

    def append(self, recording: Recording) -> None:
        """Add one recording; it must have the joints and the rate of the dataset."""
        self.header.refuse_different(recording)
        features = lerobot.features_of(recording)
        self._refuse_other_columns(features, recording.name)
        task = self._tasks.setdefault(recording.name, len(self._tasks))
        entry, columns = encode(recording, features, len(self._entries), self._frames, task)
        self._parking.add(columns)
        self._entries.append(entry)
        self._features |= features
        self._frames += entry.episode.frames

    def _refuse_other_columns(self, features: dict[str, lerobot.Feature], name: str) -> None:
        for key, feature in features.items():
            known = self._features.get(key, feature)
            if known != feature:
                raise DataError(
                    f"recording {name!r}: {key} has {len(feature.names)} columns, "
                    f"earlier recordings have {len(known.names)}; write it to another dataset"
                )

    def _finish(self) -> None:
        if not self._entries:
            raise DataError(f"no recordings were added, so {self.path} was not written")
        features = lerobot.in_order(self._features)
        (self._folder / "meta").mkdir()
        places = self._write_data(features)
        shutil.rmtree(self._folder / PARKED)
        pq.write_table(lerobot.tasks_table(list(self._tasks)), self._folder / lerobot.TASKS)
        self._fill_absent(features)
        self._write_episodes([*features, *lerobot.INDEX], places)
        self._write_json(features)

    def _write_data(self, features: dict[str, lerobot.Feature]) -> list[tuple[int, int]]:
        """Write the shards; return the chunk and the file of every episode."""
        shards = ShardWriter(self._folder, lerobot.data_schema(features))
        try:
            return [shards.write(complete(b, features)) for b in self._parking.episodes()]
        finally:
            shards.close()

    def _fill_absent(self, features: dict[str, lerobot.Feature]) -> None:
        for key, feature in features.items():
            nothing = statistics.episode_stats({key: np.full((1, len(feature.names)), np.nan)})
            for entry in self._entries:
                entry.stats.setdefault(key, nothing[key])

    def _write_episodes(self, keys: list[str], places: list[tuple[int, int]]) -> None:
        path = self._folder / "meta/episodes" / lerobot.SHARD.format(chunk=0, file=0)
        path.parent.mkdir(parents=True)
        rows = zip(self._entries, places, strict=True)
        schema = lerobot.episode_schema(keys)
        with pq.ParquetWriter(path, schema, write_page_checksum=True) as writer:
            start = 0
            while batch := list(islice(rows, EPISODES_PER_GROUP)):
                entries, where = zip(*batch, strict=True)
                writer.write_table(episode_table(entries, where, start, keys))
                start += sum(entry.episode.frames for entry in entries)

    def _write_json(self, features: dict[str, lerobot.Feature]) -> None:
        totals = {
            "total_episodes": len(self._entries),
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
        }
        masked = sum(entry.episode.masked for entry in self._entries)
        keys = [*features, *lerobot.INDEX]
        merged = {key: statistics.merge(e.stats[key] for e in self._entries) for key in keys}
        write_json_files(self._folder, self.header, features, totals, masked, merged)
