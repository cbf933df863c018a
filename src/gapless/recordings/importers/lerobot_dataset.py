"""LeRobot v3 datasets: one raw log an episode; observation.state is q and action the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json
from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.columns import vectors
from gapless.recordings.importers.named_arrays import PER_JOINT
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    MAX_TEXT_BYTES,
    check_file,
    reading,
)
from gapless.recordings.importers.source_files import collect, walk
from gapless.recordings.rawlog import RawLog, Stream
from gapless.recordings.store import lerobot
from gapless.recordings.store.info import element_names
from gapless.recordings.store.layout import DatasetLayout, Place, check_layout

CHANNELS = {lerobot.STATE: "q", lerobot.ACTION: "target"} | {
    key: channel for channel, key in lerobot.KEYS.items()
}
LIMITS = {".json": MAX_TEXT_BYTES, ".parquet": MAX_ARRAY_BYTES}


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every episode, after listing everything that is wrong with the dataset at once."""
    if not (source / lerobot.INFO).is_file():
        raise FormatError(f"{source} has no {lerobot.INFO}: a LeRobot dataset is a folder with one")
    for path in walk(source):
        if path.suffix in LIMITS:
            check_file(path, LIMITS[path.suffix], f"a {path.suffix} file")
    info = read_json(source / lerobot.INFO)
    facts = read_json(source / lerobot.FACTS) if (source / lerobot.FACTS).exists() else {}
    layout = check_layout(source, info, facts, options.joint_order)
    order = _action_order(layout, info["features"])

    def load(place: Place) -> list[RawLog]:
        where = f"{layout.shards[place.shard].path}, episode {place.episode.index}"
        with reading(where, "an episode"):
            return [_episode(layout, place, info["fps"], order, own=bool(facts), where=where)]

    return collect(layout.places.values(), load, options.problems)


def _action_order(layout: DatasetLayout, features: Mapping[str, Any]) -> list[int]:
    """Columns of the action in the order of the state's."""
    names = element_names(features.get(lerobot.ACTION, {}))
    if sorted(names) == sorted(layout.joints):
        return [names.index(joint) for joint in layout.joints]
    return list(range(len(layout.joints)))


def _episode(
    layout: DatasetLayout, place: Place, fps: float, order: list[int], own: bool, where: str
) -> RawLog:
    shard, episode = layout.shards[place.shard], place.episode
    channels = {key: name for key, name in CHANNELS.items() if key in layout.widths}
    masks = [lerobot.VALID] if lerobot.VALID in layout.widths else []
    table = shard.read(place.start, place.stop, [*channels, *masks, *lerobot.INDEX])
    late = lerobot.timestamp_error(table, fps)
    if late or episode.frames < 2:
        raise FormatError(f"{where}: {late or 'one frame; at least two are needed'}")
    arrays = {
        key: vectors(table[key], f"{where}: {key}").reshape(episode.frames, -1)
        for key in (*channels, *masks)
    }
    for mask in masks:
        arrays[lerobot.STATE] = np.where(arrays[mask] > 0, arrays[lerobot.STATE], np.nan)
    if lerobot.ACTION in channels:
        arrays[lerobot.ACTION] = arrays[lerobot.ACTION][:, order]
    time = np.arange(episode.frames) / fps
    conditions = episode.conditions if own else Conditions(extra={"task": episode.name})
    # Joints that were held were never logged: the dataset only fills their columns.
    kept = [i for i, joint in enumerate(layout.joints) if joint not in conditions.held]
    logged = {
        channel: arrays[key][:, kept] if channel in PER_JOINT else arrays[key]
        for key, channel in channels.items()
        if channel == "q" or not np.isnan(arrays[key]).all()
    }
    return RawLog(
        name=episode.name if own else f"episode_{episode.index:06d}",
        joints=tuple(layout.joints[i] for i in kept),
        streams={channel: Stream(time, values) for channel, values in logged.items()},
        pairing="acts_after",
        time_unit="s",
        angle_unit="rad" if own else None,
        conditions=conditions,
        source=str(shard.path),
    )
