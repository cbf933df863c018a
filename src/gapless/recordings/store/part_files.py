"""Reading the parts of a dataset back: what each holds, its notes, its statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gapless import artifact
from gapless.errors import ArtifactError, FormatError
from gapless.recordings.parquet_tables import read_parquet
from gapless.recordings.store import lerobot, statistics
from gapless.recordings.store.episode import Episode

PLAN = "meta/parts.json"
"""What decides the content of a dataset that was written in parts."""
_METADATA = b"gapless"


@dataclass(frozen=True)
class Summary:
    """What one part holds, without its samples."""

    episodes: list[Episode]
    features: dict[str, lerobot.Feature]
    notes: list[Any]


def episodes_path(root: Path, part: int) -> Path:
    """Path of the episode file of a part."""
    chunk, file = divmod(part, lerobot.CHUNK_FILES)
    return root / "meta/episodes" / lerobot.SHARD.format(chunk=chunk, file=file)


def part_metadata(
    features: Mapping[str, lerobot.Feature], notes: Sequence[Any]
) -> dict[bytes, bytes]:
    """What an episode file says beside its rows."""
    columns = {key: [feature.dtype, feature.names] for key, feature in features.items()}
    return {_METADATA: json.dumps({"features": columns, "notes": notes}).encode()}


def read_part(path: Path) -> Summary:
    """Read an episode file back."""
    try:
        table = read_parquet(path, ["episode_index", "length", "gapless"])
        facts = json.loads(table.schema.metadata[_METADATA])
        rows = (table[name].to_pylist() for name in table.column_names)
        episodes = [Episode.from_json(*row) for row in zip(*rows, strict=True)]
        features = {k: lerobot.Feature(d, tuple(n)) for k, (d, n) in facts["features"].items()}
        return Summary(episodes, features, facts["notes"])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException, FormatError) as error:
        raise ArtifactError(
            f"{path} is damaged ({error}); start over with --restart, or delete it by hand to "
            "write its part again"
        ) from error


def read_notes(root: Path) -> list[Any]:
    """The notes of all parts of a finished dataset, in order."""
    paths = sorted((root / "meta/episodes").glob("*/*.parquet"))
    return [note for path in paths for note in read_part(path).notes]


def is_finished(root: Path, plan: Mapping[str, Any]) -> bool:
    """Whether a dataset of this plan was published; one of another plan is refused."""
    if not root.exists():
        return False
    known = artifact.read_json(root / PLAN) if (root / PLAN).is_file() else {}
    if differing := difference(known, json.loads(json.dumps(plan))):
        raise ArtifactError(
            f"{root} already exists and was made with other options ({differing}); "
            "choose another --out, or start over with --restart"
        )
    return True


def difference(known: Any, wanted: Mapping[str, Any]) -> str:
    """Say which entries of two plans differ, or nothing."""
    known = known if isinstance(known, dict) else {}
    lines = [
        f"{name} was {known.get(name)!r} and is now {wanted.get(name)!r}"
        for name in dict.fromkeys((*wanted, *known))
        if known.get(name) != wanted.get(name)
    ]
    return "; ".join(lines[:4]) + (f"; and {len(lines) - 4} more" if len(lines) > 4 else "")


def read_stats(root: Path, parts: int, keys: Sequence[str]) -> dict[str, statistics.Stats]:
    """Statistics of the whole dataset, merged one episode file after the other."""
    merged: dict[str, list[statistics.Stats]] = {key: [] for key in keys}
    for part in range(parts):
        table = read_parquet(episodes_path(root, part))
        if table.num_rows:
            for key in keys:
                merged[key].append(statistics.merge(_episode_stats(table, key)))
    return {key: statistics.merge(found) for key, found in merged.items()}


def _episode_stats(table: pa.Table, key: str) -> list[statistics.Stats]:
    prefix = f"stats/{key}/"
    names = [c.removeprefix(prefix) for c in table.column_names if c.startswith(prefix)]
    columns = {}
    for name in names:
        flat = table[prefix + name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        columns[name] = flat.reshape(table.num_rows, -1).astype(
            np.int64 if name == "count" else float
        )
    return [{name: values[i] for name, values in columns.items()} for i in range(table.num_rows)]
