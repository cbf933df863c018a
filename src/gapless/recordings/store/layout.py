"""Checking a dataset folder against the LeRobot v3.0 layout; all problems are told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import fails_by_machine
from gapless.recordings.parquet_tables import read_parquet
from gapless.recordings.store import lerobot
from gapless.recordings.store.episode import Episode
from gapless.recordings.store.info import (
    element_names,
    feature_problems,
    info_problems,
    widths,
)
from gapless.recordings.store.shards import Shard, shard_path

EPISODE_COLUMNS = (
    "episode_index",
    "tasks",
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)


@dataclass(frozen=True)
class Place:
    """Where the samples of an episode are: a data file, and rows start:stop of it."""

    episode: Episode
    shard: tuple[int, int]
    start: int
    stop: int


@dataclass
class DatasetLayout:
    """What the checks found, and what is wrong."""

    root: Path
    problems: list[str] = field(default_factory=list)
    joints: tuple[str, ...] = ()
    widths: dict[str, int] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    shards: dict[tuple[int, int], Shard] = field(default_factory=dict)


def check_layout(
    root: Path, info: Any, facts: Any, joints: tuple[str, ...] | None = None
) -> DatasetLayout:
    """Check everything but the samples; raise one FormatError that lists every problem.

    Args:
        root: the folder.
        info: content of meta/info.json.
        facts: content of meta/gapless.json; an empty dict where there is none.
        joints: names of the state's columns, instead of those in info.json.
    """
    layout = DatasetLayout(root)
    if not isinstance(facts, dict) or not isinstance(facts.get("provenance", {}), dict):
        layout.problems.append(f"{lerobot.FACTS} holds no table of facts")
        facts = {}
    features = info.get("features") if isinstance(info, dict) else None
    if not isinstance(features, dict) or not all(isinstance(f, dict) for f in features.values()):
        layout.problems.append(f"{lerobot.INFO} has no table of features")
    else:
        layout.joints = joints or element_names(features.get(lerobot.STATE, {}))
        layout.widths = widths(features)
        layout.problems += info_problems(info, facts)
        layout.problems += feature_problems(features, layout.joints)
        _check_episodes(layout, info)
        _check_shards(layout, info)
    if layout.problems:
        listed = "".join(f"\n  - {problem}" for problem in layout.problems)
        raise FormatError(f"{root} cannot be used as a LeRobot {lerobot.VERSION} dataset:{listed}")
    return layout


def _check_episodes(layout: DatasetLayout, info: Mapping[str, Any]) -> None:
    paths = sorted((layout.root / "meta/episodes").glob("*/*.parquet"))
    if not paths:
        layout.problems.append("meta/episodes holds no parquet file")
        return
    rows: list[dict[str, Any]] = []
    for path in paths:
        rows += _episode_rows(layout, path)
    rows.sort(key=lambda row: row["episode_index"])
    if layout.problems and not rows:
        return
    if len(rows) != info.get("total_episodes"):
        layout.problems.append(
            f"meta/episodes lists {len(rows)} episodes, "
            f"{lerobot.INFO} says {info.get('total_episodes')!r}"
        )
    _place(layout, rows)


def _episode_rows(layout: DatasetLayout, path: Path) -> list[dict[str, Any]]:
    try:
        names = pq.read_schema(path).names
        wanted = [c for c in (*EPISODE_COLUMNS, "gapless") if c in names]
        rows = read_parquet(path, wanted).to_pylist()
    except (OSError, ValueError, pa.ArrowException, FormatError) as error:
        layout.problems.append(_unreadable(layout.root, path, error))
        return []
    unusable = [c for c in EPISODE_COLUMNS if any(not _usable(c, row.get(c)) for row in rows)]
    if unusable:
        layout.problems.append(f"{path.relative_to(layout.root)} lacks usable columns {unusable}")
        return []
    return rows


def _usable(column: str, value: Any) -> bool:
    if column == "tasks":
        return isinstance(value, list) and all(isinstance(task, str) for task in value)
    return isinstance(value, int) and value >= 0


def _place(layout: DatasetLayout, rows: list[dict[str, Any]]) -> None:
    """Turn rows into episodes, and global sample numbers into rows of data files."""
    first: dict[tuple[int, int], int] = {}
    for row in rows:
        index, length, start = (row[k] for k in ("episode_index", "length", "dataset_from_index"))
        shard = (row["data/chunk_index"], row["data/file_index"])
        start -= first.setdefault(shard, start)
        stop = start + length
        if (
            row["dataset_to_index"] - row["dataset_from_index"] != length
            or min(length - 1, start) < 0
        ):
            layout.problems.append(
                f"meta/episodes: episode {index} has length {length}, but samples "
                f"{row['dataset_from_index']} to {row['dataset_to_index']}"
            )
        elif index in layout.places:
            layout.problems.append(f"meta/episodes: episode {index} is listed twice")
        else:
            layout.places[index] = Place(_episode(layout, row), shard, start, stop)


def _episode(layout: DatasetLayout, row: Mapping[str, Any]) -> Episode:
    index, frames = row["episode_index"], row["length"]
    if row.get("gapless"):
        try:
            return Episode.from_json(index, frames, row["gapless"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            layout.problems.append(
                f"meta/episodes: facts of episode {index} are damaged ({error!r})"
            )
    return Episode(index, (row["tasks"] or [f"episode_{index}"])[0], frames)


def _check_shards(layout: DatasetLayout, info: Mapping[str, Any]) -> None:
    expected: dict[tuple[int, int], int] = {}
    for place in layout.places.values():
        expected[place.shard] = max(place.stop, expected.get(place.shard, 0))
    for (chunk, file), rows in expected.items():
        _check_shard(layout, (chunk, file), rows, info)
    frames = sum(place.episode.frames for place in layout.places.values())
    if expected and frames != info.get("total_frames"):
        layout.problems.append(
            f"the episodes have {frames} frames, {lerobot.INFO} says {info.get('total_frames')!r}"
        )


def _check_shard(
    layout: DatasetLayout, key: tuple[int, int], rows: int, info: Mapping[str, Any]
) -> None:
    path = shard_path(layout.root, *key)
    name = path.relative_to(layout.root)
    if not path.is_file():
        layout.problems.append(f"{name} is missing ({rows} frames)")
        return
    try:
        shard = Shard.open(path)
    except (OSError, ValueError, pa.ArrowException, FormatError) as error:
        layout.problems.append(_unreadable(layout.root, path, error))
        return
    layout.shards[key] = shard
    missing = layout.widths.keys() - set(shard.metadata.schema.to_arrow_schema().names)
    if missing:
        layout.problems.append(f"{name} lacks columns {sorted(missing)}")
    if shard.metadata.num_rows != rows:
        layout.problems.append(f"{name} has {shard.metadata.num_rows} frames, expected {rows}")
    elif not missing & lerobot.INDEX.keys():
        layout.problems += _clock_problems(shard, name, info.get("fps"))


def _clock_problems(shard: Shard, name: Path, fps: Any) -> list[str]:
    """Compare the clock of the first row group with the stated rate."""
    if not isinstance(fps, (int, float)) or not fps > 0:
        return []
    try:
        clock = shard.read(0, shard.ends[0], ["timestamp", "frame_index"])
        late = lerobot.timestamp_error(clock, fps)
    except (FormatError, KeyError) as error:
        return [f"{name}: {error}"]
    return [f"{name}: {late}"] if late else []


def _unreadable(root: Path, path: Path, error: Exception) -> str:
    if fails_by_machine(error):  # nothing is known of the file then
        raise error
    size = path.stat().st_size if path.exists() else 0
    return (
        f"{path.relative_to(root)} ({size} bytes) is cut short or no Parquet file; "
        f"copy it again ({error})"
    )
