"""What every writer of a dataset shares: its header, its episode rows, the JSON beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gapless import artifact
from gapless.errors import DataError
from gapless.recordings.recording import Recording
from gapless.recordings.store import lerobot, statistics
from gapless.recordings.store.episode import Episode


@dataclass(frozen=True)
class Header:
    """What all recordings of a dataset have in common.

    Attributes:
        name: the dataset, for messages.
        robot: name of the robot.
        joints: joint names, in the order every recording has them.
        rate: samples per second, a whole number (LeRobot counts in whole frames).
        provenance: where the recordings come from.
    """

    name: str
    robot: str
    joints: tuple[str, ...]
    rate: float
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.rate < math.inf:
            raise DataError(f"a dataset's rate is {self.rate} Hz; expected 1 or more")
        if self.rate != int(self.rate):
            raise DataError(
                f"a dataset's rate must be a whole number of samples per second, not {self.rate}; "
                f"resample, for example with --rate {round(self.rate)}"
            )
        object.__setattr__(self, "rate", int(self.rate))

    def refuse_different(self, recording: Recording) -> None:
        """Refuse a recording without samples, or of other joints or another rate."""
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
                f"recording {recording.name!r} does not fit {self.name}: "
                + "; ".join(problems)
                + ". Resample or reorder it first, or write it to a dataset of its own"
            )


@dataclass(frozen=True)
class Entry:
    """One appended recording, without its samples."""

    episode: Episode
    facts: str
    stats: dict[str, statistics.Stats]


def encode(
    recording: Recording,
    features: Mapping[str, lerobot.Feature],
    index: int,
    start: int,
    task: int,
) -> tuple[Entry, dict[str, pa.Array]]:
    """A recording as a row of the episode table and the columns of its samples.

    Args:
        recording: what to store.
        features: the columns it has.
        index: number of the episode in the dataset.
        start: frames of the dataset before it.
        task: number of its motion.
    """
    arrays = lerobot.arrays_of(recording)
    episode = Episode.of(index, recording)
    facts = episode.to_json()
    numbers = _index_columns(episode, start, int(recording.rate), task)
    columns = {key: features[key].pack(array) for key, array in arrays.items()}
    columns |= {key: pa.array(values) for key, values in numbers.items()}
    return Entry(episode, facts, statistics.episode_stats(arrays | numbers)), columns


def _index_columns(episode: Episode, start: int, rate: int, task: int) -> dict[str, np.ndarray]:
    frames = np.arange(episode.frames)
    return {
        "timestamp": (frames / rate).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(episode.frames, episode.index),
        "index": frames + start,
        "task_index": np.full(episode.frames, task),
    }


def episode_table(
    entries: Sequence[Entry],
    places: Sequence[tuple[int, int]],
    start: int,
    keys: Sequence[str],
    file: int = 0,
) -> pa.Table:
    """Rows of meta/episodes.

    Args:
        entries: one a row.
        places: chunk and file of the samples of each.
        start: frames of the dataset before the first.
        keys: the columns that have statistics.
        file: number of the episode file the rows go to.
    """
    schema = lerobot.episode_schema(keys)
    episodes = [entry.episode for entry in entries]
    stops = start + np.cumsum([episode.frames for episode in episodes], dtype=np.int64)
    chunk, number = divmod(file, lerobot.CHUNK_FILES)
    columns = {
        "episode_index": [episode.index for episode in episodes],
        "tasks": [[episode.name] for episode in episodes],
        "length": [episode.frames for episode in episodes],
        "data/chunk_index": [chunk for chunk, _ in places],
        "data/file_index": [file for _, file in places],
        "dataset_from_index": [start, *stops.tolist()][: len(episodes)],
        "dataset_to_index": stops.tolist(),
        "meta/episodes/chunk_index": [chunk] * len(episodes),
        "meta/episodes/file_index": [number] * len(episodes),
        "gapless": [entry.facts for entry in entries],
    }
    if not entries:
        return schema.empty_table()
    return pa.table(columns | _stats_columns(entries, keys)).select(schema.names).cast(schema)


def _stats_columns(entries: Sequence[Entry], keys: Sequence[str]) -> dict[str, pa.Array]:
    """One list column for each statistic of each feature."""
    columns = {}
    for key in keys:
        for name in entries[0].stats[key]:
            values = np.stack([entry.stats[key][name] for entry in entries])
            columns[f"stats/{key}/{name}"] = pa.ListArray.from_arrays(
                np.arange(len(values) + 1, dtype=np.int32) * values.shape[1], values.ravel()
            )
    return columns


def write_json_files(
    folder: Path,
    header: Header,
    features: Mapping[str, lerobot.Feature],
    totals: Mapping[str, int],
    masked: int,
    stats: Mapping[str, statistics.Stats],
) -> None:
    """Write info.json, gapless.json and stats.json into a dataset folder."""
    facts = {
        "format": lerobot.FORMAT,
        "robot": header.robot,
        "rate": header.rate,
        "joints": list(header.joints),
        "units": {key: lerobot.UNITS[key] for key in features},
        "time": "action[t] is held from t to t+1, and observation[t+1] is its result",
        "masked": masked,
        "provenance": header.provenance,
        "software": artifact.provenance(),
    }
    info = lerobot.info_json(features, header.robot, int(header.rate), totals)
    artifact.write_json(folder / lerobot.FACTS, facts)
    artifact.write_json(folder / lerobot.INFO, info)
    artifact.write_json(folder / lerobot.STATS, statistics.to_json(stats))
