"""Writing a dataset: recordings come one at a time, and the folder appears when all are in.

Each recording is first parked in an Arrow file of the staging folder, because only the last one
settles which channels the dataset has. Memory holds one recording at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
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
from gapless.recordings.store.shards import ShardWriter, park, unpark

EPISODES_PER_GROUP = 256
PARKED = "parked"


@dataclass(frozen=True)
class _Entry:
    """One appended recording; its samples are in the parked file of the same number."""

    episode: Episode
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
        self._stack = ExitStack()

    def __enter__(self) -> DatasetWriter:
        self._folder = self._stack.enter_context(artifact.staged(self.path, self._overwrite))
        (self._folder / PARKED).mkdir()
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
        episode.to_json()  # refused now, while the caller knows which recording it is
        columns = {key: features[key].pack(array) for key, array in arrays.items()}
        park(pa.table(columns), self._parked(episode.index))
        self._entries.append(_Entry(episode, statistics.episode_stats(arrays)))
        self._features |= features

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

    def _parked(self, index: int) -> Path:
        return self._folder / PARKED / f"{index:06d}.arrow"

    def _finish(self) -> None:
        if not self._entries:
            raise DataError(f"no recordings were added, so {self.path} was not written")
        order = [lerobot.STATE, lerobot.ACTION, lerobot.VALID, *lerobot.KEYS.values()]
        features = {key: self._features[key] for key in order if key in self._features}
        tasks = list(dict.fromkeys(entry.episode.name for entry in self._entries))
        (self._folder / "meta").mkdir()
        places = self._write_data(features, tasks)
        shutil.rmtree(self._folder / PARKED)
        pq.write_table(lerobot.tasks_table(tasks), self._folder / lerobot.TASKS)
        self._write_episodes(features, places)
        self._write_json(features, len(tasks))

    def _write_data(self, features: dict[str, lerobot.Feature], tasks: list[str]) -> list[tuple]:
        """Write the shards; return (chunk, file, first row, last row + 1) for every episode."""
        task_index = {task: i for i, task in enumerate(tasks)}
        shards = ShardWriter(self._folder, lerobot.data_schema(features))
        places, start = [], 0
        try:
            for entry in self._entries:
                episode = entry.episode
                index = _index_columns(episode, start, self.rate, task_index[episode.name])
                table = unpark(self._parked(episode.index), features, index)
                stop = start + episode.frames
                places.append((*shards.write(table), start, stop))
                entry.stats.update(statistics.episode_stats(index))
                self._fill_absent(entry, features)
                self._parked(episode.index).unlink()
                start = stop
        finally:
            shards.close()
        return places

    def _fill_absent(self, entry: _Entry, features: dict[str, lerobot.Feature]) -> None:
        for key in features.keys() - entry.stats.keys():
            nothing = np.empty((0, len(features[key].names)))
            entry.stats.update(statistics.episode_stats({key: nothing}))

    def _write_episodes(self, features: dict[str, lerobot.Feature], places: list[tuple]) -> None:
        path = self._folder / "meta/episodes" / lerobot.SHARD.format(chunk=0, file=0)
        path.parent.mkdir(parents=True)
        rows = self._episode_rows([*features, *lerobot.INDEX], places)
        schema = lerobot.episode_schema([*features, *lerobot.INDEX])
        with pq.ParquetWriter(path, schema, write_page_checksum=True) as writer:
            while batch := list(islice(rows, EPISODES_PER_GROUP)):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))

    def _episode_rows(self, keys: list[str], places: list[tuple]) -> Iterator[dict[str, Any]]:
        for entry, (chunk, file, start, stop) in zip(self._entries, places, strict=True):
            episode = entry.episode
            stats = {
                f"stats/{key}/{name}": value
                for key in keys
                for name, value in entry.stats[key].items()
            }
            yield {
                "episode_index": episode.index,
                "tasks": [episode.name],
                "length": episode.frames,
                "data/chunk_index": chunk,
                "data/file_index": file,
                "dataset_from_index": start,
                "dataset_to_index": stop,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                "gapless": episode.to_json(),
                **stats,
            }

    def _write_json(self, features: dict[str, lerobot.Feature], tasks: int) -> None:
        totals = {
            "total_episodes": len(self._entries),
            "total_frames": sum(entry.episode.frames for entry in self._entries),
            "total_tasks": tasks,
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
        info = lerobot.info_json(features, self.robot, self.rate, totals, facts)
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
