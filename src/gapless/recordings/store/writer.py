"""Writing a dataset: recordings come one at a time, and the folder appears when all are in.

Each recording is first parked in the staging folder, because only the last one settles which
channels the dataset has. Memory holds one recording at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gapless import artifact
from gapless.errors import DataError
from gapless.recordings.recording import Recording
from gapless.recordings.store import lerobot, statistics
from gapless.recordings.store.episode import Episode
from gapless.recordings.store.shards import Parking, ShardWriter, complete

EPISODES_PER_GROUP = 256
PARKED = "parked"


@dataclass(frozen=True)
class _Entry:
    """One appended recording, without its samples."""

    episode: Episode
    facts: str
    stats: dict[str, statistics.Stats]


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
        if rate != int(rate) or rate < 1:
            raise DataError(
                f"a dataset's rate must be a whole number of samples per second, not {rate}; "
                f"resample, for example with --rate {max(1, round(rate))}"
            )
        self.path, self.robot, self.rate = Path(path), robot, int(rate)
        self.joints = tuple(joints)
        self.provenance = dict(provenance or {})
        self._overwrite = overwrite
        self._entries: list[_Entry] = []
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
        self._refuse_different(recording)
        features = lerobot.features_of(recording)
        self._refuse_other_columns(features, recording.name)
        arrays = lerobot.arrays_of(recording)
        episode = Episode.of(len(self._entries), recording)
        facts = episode.to_json()
        task = self._tasks.setdefault(episode.name, len(self._tasks))
        index = _index_columns(episode, self._frames, self.rate, task)
        columns = {key: features[key].pack(array) for key, array in arrays.items()}
        self._parking.add(columns | {key: pa.array(values) for key, values in index.items()})
        self._entries.append(_Entry(episode, facts, statistics.episode_stats(arrays | index)))
        self._features |= features
        self._frames += episode.frames

    def _refuse_different(self, recording: Recording) -> None:
        problems = [] if len(recording) else ["it has no samples"]
        if recording.rate != self.rate:
            problems.append(f"its rate is {recording.rate:g} Hz, the dataset's {self.rate} Hz")
        if recording.joints != self.joints:
            missing = [j for j in self.joints if j not in recording.joints]
            extra = [j for j in recording.joints if j not in self.joints]
            differ = f"missing {missing}, extra {extra}" if missing or extra else "another order"
            problems.append(f"its joints differ from the dataset's ({differ})")
        if problems:
            raise DataError(
                f"recording {recording.name!r} does not fit {self.path.name}: "
                + "; ".join(problems)
                + ". Resample or reorder it first, or write it to a dataset of its own"
            )

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
        order = [lerobot.STATE, lerobot.ACTION, lerobot.VALID, *lerobot.KEYS.values()]
        features = {key: self._features[key] for key in order if key in self._features}
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
                columns = _episode_columns(batch, start) | _stats_columns(batch, keys)
                writer.write_table(pa.table(columns).select(schema.names).cast(schema))
                start = columns["dataset_to_index"][-1]

    def _write_json(self, features: dict[str, lerobot.Feature]) -> None:
        totals = {
            "total_episodes": len(self._entries),
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
        }
        facts = {
            "format": lerobot.FORMAT,
            "robot": self.robot,
            "rate": self.rate,
            "joints": list(self.joints),
            "units": {key: lerobot.UNITS[key] for key in features},
            "time": "action[t] is held from t to t+1, and observation[t+1] is its result",
            "masked": sum(entry.episode.masked for entry in self._entries),
            "provenance": self.provenance,
            "software": artifact.provenance(),
        }
        info = lerobot.info_json(features, self.robot, self.rate, totals)
        artifact.write_json(self._folder / lerobot.FACTS, facts)
        artifact.write_json(self._folder / lerobot.INFO, info)
        keys = [*features, *lerobot.INDEX]
        merged = {key: statistics.merge(e.stats[key] for e in self._entries) for key in keys}
        artifact.write_json(self._folder / lerobot.STATS, statistics.to_json(merged))


def _index_columns(episode: Episode, start: int, rate: int, task: int) -> dict[str, np.ndarray]:
    frames = np.arange(episode.frames)
    return {
        "timestamp": (frames / rate).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(episode.frames, episode.index),
        "index": frames + start,
        "task_index": np.full(episode.frames, task),
    }


def _episode_columns(rows: list[tuple[_Entry, tuple[int, int]]], start: int) -> dict[str, Any]:
    episodes = [entry.episode for entry, _ in rows]
    stops = start + np.cumsum([episode.frames for episode in episodes])
    return {
        "episode_index": [episode.index for episode in episodes],
        "tasks": [[episode.name] for episode in episodes],
        "length": [episode.frames for episode in episodes],
        "data/chunk_index": [chunk for _, (chunk, _) in rows],
        "data/file_index": [file for _, (_, file) in rows],
        "dataset_from_index": [start, *stops[:-1].tolist()],
        "dataset_to_index": stops.tolist(),
        "meta/episodes/chunk_index": [0] * len(rows),
        "meta/episodes/file_index": [0] * len(rows),
        "gapless": [entry.facts for entry, _ in rows],
    }


def _stats_columns(
    rows: list[tuple[_Entry, tuple[int, int]]], keys: list[str]
) -> dict[str, pa.Array]:
    """One list column for each statistic of each feature."""
    columns = {}
    for key in keys:
        for name in rows[0][0].stats[key]:
            values = np.stack([entry.stats[key][name] for entry, _ in rows])
            columns[f"stats/{key}/{name}"] = pa.ListArray.from_arrays(
                np.arange(len(values) + 1, dtype=np.int32) * values.shape[1], values.ravel()
            )
    return columns
