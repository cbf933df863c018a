"""LeRobot v3 datasets: one raw log an episode; observation.state is q and action the target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.columns import read_parquet, vectors
from gapless.recordings.importers.limits import MAX_TEXT_BYTES, check_file
from gapless.recordings.importers.sources import collect, walk
from gapless.recordings.rawlog import RawLog, Stream
from gapless.recordings.recording import BODY_CHANNELS

STATE, ACTION, VALID = "observation.state", "action", "observation.valid"
CHANNELS = {
    "observation.velocity": "dq",
    "observation.effort": "torque",
    "observation.temperature": "temperature",
    **{f"observation.{channel}": channel for channel in BODY_CHANNELS},
}
CHUNK, FILE = "data/chunk_index", "data/file_index"
CONVERT = "python -m lerobot.datasets.v30.convert_dataset_v21_to_v30 --repo-id=<dataset>"


@dataclass(frozen=True)
class _Layout:
    root: Path
    info: dict[str, Any]
    episodes: list[dict[str, Any]]
    fps: float
    joints: tuple[str, ...]
    columns: list[str]
    """Features to read, where the dataset has them."""

    def shard(self, episode: dict[str, Any]) -> Path:
        chunk, file = int(episode[CHUNK]), int(episode[FILE])
        return self.root / "data" / f"chunk-{chunk:03d}" / f"file-{file:03d}.parquet"


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every episode, after listing everything that is wrong with the dataset at once."""
    layout = _layout(source, options)
    shards: dict[Path, list[dict[str, Any]]] = {}
    for episode in layout.episodes:
        shards.setdefault(layout.shard(episode), []).append(episode)
    for path, episodes in shards.items():
        table = read_parquet(path, [*layout.columns, "episode_index", "timestamp"])
        rows = table.column("episode_index").to_numpy()

        def load(
            episode: dict[str, Any], path: Path = path, table: pa.Table = table, rows: Any = rows
        ) -> list[RawLog]:
            mine = np.flatnonzero(rows == episode["episode_index"])
            return [_episode(layout, episode, table.take(mine), path)]

        yield from collect(episodes, load, options.problems)


def _layout(source: Path, options: ReadOptions) -> _Layout:
    info = _info(source)
    names = {p.relative_to(source).as_posix() for p in walk(source)}
    features = info.get("features", {})
    problems = [f"the feature {STATE!r} is missing"] if STATE not in features else []
    fps = info.get("fps")
    if not isinstance(fps, int | float) or not fps > 0:
        problems.append(f"fps is {fps!r}; a positive number was expected")
    tables = sorted(n for n in names if n.startswith("meta/episodes/") and n.endswith(".parquet"))
    episodes = [row for name in tables for row in _rows(source / name)]
    if len(episodes) != info.get("total_episodes"):
        problems.append(
            f"meta/episodes lists {len(episodes)} episodes, info.json {info.get('total_episodes')}"
        )
    columns = [name for name in (STATE, ACTION, VALID, *CHANNELS) if name in features]
    layout = _Layout(source, info, episodes, fps or 0, _joints(features, options), columns)
    shards = sorted({layout.shard(e).relative_to(source).as_posix() for e in episodes})
    problems += [f"{shard} is missing" for shard in shards if shard not in names]
    if problems:
        raise FormatError(f"{source}: " + "; ".join(problems) + ". Download the dataset again")
    return layout


def _info(source: Path) -> dict[str, Any]:
    path = source / "meta" / "info.json"
    if not path.is_file():
        raise FormatError(f"{source} has no meta/info.json: a LeRobot dataset is a folder with one")
    check_file(path, MAX_TEXT_BYTES, "info.json")
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        version = str(info["codebase_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} is not a LeRobot info.json ({error!r})") from error
    if not version.startswith("v3"):
        raise FormatError(
            f"{source} is a LeRobot {version} dataset; v3.0 is read. Convert it first: {CONVERT}"
        )
    return info


def _rows(path: Path) -> list[dict[str, Any]]:
    wanted = ["episode_index", "length", "tasks", CHUNK, FILE]
    table = read_parquet(path)
    missing = [n for n in wanted if n not in table.column_names and n != "tasks"]
    if missing:
        raise FormatError(f"{path} lacks the columns {missing}")
    return table.select([n for n in wanted if n in table.column_names]).to_pylist()


def _joints(features: dict[str, Any], options: ReadOptions) -> tuple[str, ...]:
    state = features.get(STATE, {})
    count = int((state.get("shape") or [0])[0])
    names = options.joint_order or _names(state.get("names"))
    if len(names) != count:
        raise FormatError(
            f"{STATE} has {count} columns and the names {list(names)}; give the joint order"
        )
    return tuple(names)


def _names(names: Any) -> tuple[str, ...]:
    """Names are a list, or a dict with one list ({"motors": [...]}), or absent."""
    if isinstance(names, dict):
        names = next((v for v in names.values() if isinstance(v, list)), None)
    return tuple(str(name).removesuffix(".pos") for name in names or ())


def _episode(layout: _Layout, episode: dict[str, Any], table: pa.Table, path: Path) -> RawLog:
    index, count = int(episode["episode_index"]), table.num_rows
    time = np.arange(count) / layout.fps
    _check(path, index, episode, table, time)
    values = {
        n: vectors(table.column(n), f"{path}: {n}").reshape(count, -1) for n in layout.columns
    }
    if VALID in values:
        valid = values.pop(VALID) > 0
        values[STATE] = np.where(valid, values[STATE], np.nan)
    channels = {STATE: "q", ACTION: "target", **CHANNELS}
    streams = {channels[name]: Stream(time, array) for name, array in values.items()}
    if "target" in streams:
        streams["target"] = Stream(time, _by_name(layout, streams["target"].values))
        if np.isnan(streams["target"].values).all():
            del streams["target"]
    task = next(iter(episode.get("tasks") or []), "")
    own = "gapless" in layout.info
    return RawLog(
        name=str(task) if own and task else f"episode_{index:06d}",
        joints=layout.joints,
        streams=streams,
        pairing="acts_after",
        time_unit="s",
        angle_unit="rad" if own else None,
        conditions=Conditions(extra={"task": str(task)} if task else {}),
        source=str(path),
    )


def _check(
    path: Path, index: int, episode: dict[str, Any], table: pa.Table, time: np.ndarray
) -> None:
    if table.num_rows != episode["length"] or table.num_rows < 2:
        raise FormatError(
            f"{path}: episode {index} has {table.num_rows} rows, {episode['length']} were announced"
        )
    stamps = table.column("timestamp").to_numpy().astype(float)
    late = np.abs(stamps - stamps[0] - time).max()
    if late > 0.5 * time[1]:
        raise FormatError(
            f"{path}: timestamps of episode {index} are up to {late:.3g} s off the "
            f"{1 / time[1]:g} fps of info.json"
        )


def _by_name(layout: _Layout, target: np.ndarray) -> np.ndarray:
    """Put the action's columns in the order of the state's."""
    names = _names(layout.info["features"][ACTION].get("names")) or layout.joints
    if sorted(names) == sorted(layout.joints):
        return target[:, [names.index(joint) for joint in layout.joints]]
    if target.shape[1] != len(layout.joints):
        raise FormatError(f"action has the columns {list(names)}, the state {list(layout.joints)}")
    return target
