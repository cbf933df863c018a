"""The LeRobot v3.0 layout: where files are, what columns are called, what the JSON must say.

Nothing here touches the disk. `writer.py` writes this layout and `reader.py` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gapless.errors import DataError
from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS, Recording
from gapless.recordings.store.statistics import QUANTILES

VERSION = "v3.0"
FORMAT = 1
"""Version of what gapless adds to the layout: the file FACTS and the episode column "gapless"."""
CHUNK_FILES = 1000
FILE_MEGABYTES = 100
SHARD = "chunk-{chunk:03d}/file-{file:03d}.parquet"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
INFO, STATS, TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
FACTS = "meta/gapless.json"
"""A file of its own, because LeRobot warns about keys of info.json that it does not know."""

STATE, ACTION, VALID = "observation.state", "action", "observation.valid"
_SIM = {
    "sim_q": "sim.state",
    "sim_dq": "sim.velocity",
    "sim_torque": "sim.effort",
    "sim_base_pos": "sim.base_pos",
    "sim_base_quat_wxyz": "sim.base_quat_wxyz",
}
"""Neither "observation" nor "action": a policy must not be trained on the replica by accident."""
KEYS = (
    {
        "dq": "observation.velocity",
        "torque": "observation.effort",
        "target_dq": "action.velocity",
        "torque_ff": "action.effort",
    }
    | {channel: f"observation.{channel}" for channel in ("temperature", *BODY_CHANNELS)}
    | _SIM
)
"""Channel of a Recording -> feature of the dataset."""
INDEX = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""Scalar columns that every LeRobot dataset has."""
UNITS = {STATE: "rad", ACTION: "rad", VALID: "1"} | {
    KEYS[channel]: unit
    for channel, unit in (JOINT_CHANNELS | {c: u for c, (_, u) in BODY_CHANNELS.items()}).items()
}
_ARROW = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}


@dataclass(frozen=True)
class Feature:
    """One vector column: its type and the names of its elements."""

    dtype: str
    names: tuple[str, ...]

    @property
    def arrow(self) -> pa.DataType:
        """Fixed-size list, except that LeRobot stores one element as a plain scalar."""
        value = _ARROW[self.dtype]
        return value if len(self.names) == 1 else pa.list_(value, len(self.names))

    def to_json(self) -> dict[str, Any]:
        """The entry of info.json."""
        return {"dtype": self.dtype, "shape": [len(self.names)], "names": list(self.names)}

    def pack(self, values: np.ndarray) -> pa.Array:
        """Arrow column of a (T, k) array."""
        flat = np.ascontiguousarray(values, self.dtype).reshape(-1)
        bits = np.packbits(flat, bitorder="little") if self.dtype == "bool" else flat
        buffers = [None, pa.py_buffer(bits)]
        flat = pa.Array.from_buffers(_ARROW[self.dtype], len(flat), buffers)
        if len(self.names) == 1:
            return flat
        return pa.FixedSizeListArray.from_arrays(flat, len(self.names))


def features_of(recording: Recording) -> dict[str, Feature]:
    """The features that one recording needs; action and mask are always there."""
    joints = recording.joints
    features = {
        STATE: Feature("float32", joints),
        ACTION: Feature("float32", joints),
        VALID: Feature("bool", joints),
    }
    for channel in KEYS:
        if channel in recording.channels:
            features[KEYS[channel]] = _channel(channel, joints, recording.channels[channel])
    return features


def _channel(channel: str, joints: tuple[str, ...], values: np.ndarray) -> Feature:
    if channel in JOINT_CHANNELS:
        return Feature("float32", joints)
    return Feature("float32", _element_names(channel, _width(channel, values)))


def in_order(features: Mapping[str, Feature]) -> dict[str, Feature]:
    """The features in the order of the columns on disk."""
    order = [STATE, ACTION, VALID, *KEYS.values()]
    return {key: features[key] for key in order if key in features}


def arrays_of(recording: Recording) -> dict[str, np.ndarray]:
    """The (T, k) arrays of a recording by feature, as they are stored."""
    target = np.full(recording.q.shape, np.nan) if recording.target is None else recording.target
    floats = {STATE: recording.q, ACTION: target}
    floats |= {KEYS[channel]: array for channel, array in recording.channels.items()}
    return {key: _float32(key, array, recording.name) for key, array in floats.items()} | {
        VALID: np.ascontiguousarray(recording.mask, dtype=bool)
    }


def _float32(key: str, values: np.ndarray, name: str) -> np.ndarray:
    with np.errstate(over="raise"):
        try:
            # In one order of memory: sums over it, and so statistics, go by the values alone.
            return np.asarray(values).astype(np.float32, order="C").reshape(len(values), -1)
        except FloatingPointError:
            largest = np.nanmax(np.abs(values))
            raise DataError(
                f"recording {name!r}: {key} reaches {largest:.3g}, beyond what a dataset stores "
                "(float32); mask the sample and put a finite filler there"
            ) from None


def _width(channel: str, values: np.ndarray) -> int:
    """Columns of a body channel, checked against what the channel is."""
    width = 1 if values.ndim == 1 else values.shape[1]
    expected = BODY_CHANNELS[channel][0]
    if values.ndim > 2 or width < 1 or expected not in (None, width):
        raise DataError(
            f"channel {channel!r} has shape {values.shape}, "
            f"expected (samples, {expected or 'feet'})"
        )
    return width


def _element_names(channel: str, width: int) -> tuple[str, ...]:
    if "quat" in channel:
        return ("w", "x", "y", "z")
    return ("x", "y", "z") if width == 3 else tuple(f"{channel}_{i}" for i in range(width))


def data_schema(features: Mapping[str, Feature]) -> pa.Schema:
    """Schema of the data files."""
    vectors = [(key, feature.arrow) for key, feature in features.items()]
    return pa.schema(vectors + [(key, _ARROW[dtype]) for key, dtype in INDEX.items()])


def info_json(
    features: Mapping[str, Feature], robot: str, rate: int, totals: Mapping[str, int]
) -> dict[str, Any]:
    """Content of meta/info.json."""
    scalars = {k: {"dtype": d, "shape": [1], "names": None} for k, d in INDEX.items()}
    return {
        "codebase_version": VERSION,
        "robot_type": robot,
        **totals,
        "chunks_size": CHUNK_FILES,
        "data_files_size_in_mb": FILE_MEGABYTES,
        "video_files_size_in_mb": 200,
        "fps": rate,
        "splits": {"train": f"0:{totals['total_episodes']}"},
        "data_path": DATA_PATH,
        "video_path": None,
        "features": {key: feature.to_json() for key, feature in features.items()} | scalars,
    }


def tasks_table(tasks: Sequence[str]) -> pa.Table:
    """meta/tasks.parquet: what pandas writes for a frame with the index "task"."""
    table = pa.table(
        {
            "task_index": pa.array(range(len(tasks)), pa.int64()),
            "task": pa.array(tasks, pa.string()),
        }
    )
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [_pandas_column("task_index", "int64"), _pandas_column("task", "unicode")],
        "pandas_version": "2.2.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def _pandas_column(name: str, kind: str) -> dict[str, Any]:
    numpy = "object" if kind == "unicode" else kind
    return {
        "name": name,
        "field_name": name,
        "pandas_type": kind,
        "numpy_type": numpy,
        "metadata": None,
    }


def episode_schema(keys: Sequence[str]) -> pa.Schema:
    """Schema of meta/episodes; `keys` are the columns that have statistics."""
    integer, number = pa.int64(), pa.list_(pa.float64())
    names = ("min", "max", "mean", "std", *QUANTILES)
    return pa.schema(
        [
            ("episode_index", integer),
            ("tasks", pa.list_(pa.string())),
            ("length", integer),
            ("data/chunk_index", integer),
            ("data/file_index", integer),
            ("dataset_from_index", integer),
            ("dataset_to_index", integer),
            *((f"stats/{key}/{name}", number) for key in keys for name in names),
            *((f"stats/{key}/count", pa.list_(integer)) for key in keys),
            ("meta/episodes/chunk_index", integer),
            ("meta/episodes/file_index", integer),
            ("gapless", pa.string()),
        ]
    )


def timestamp_error(table: pa.Table, rate: float) -> str:
    """Say where the clock column contradicts the rate, or nothing."""
    clock = table["timestamp"].to_numpy().astype(np.float64)
    expected = table["frame_index"].to_numpy() / rate
    # float32 seconds lose digits in long episodes, so the tolerance grows with time.
    late = np.abs(clock - expected) > 0.1 / rate + 1e-6 * expected
    if not late.any():
        return ""
    row = int(np.argmax(late))
    frame = table["frame_index"][row].as_py()
    return f"frame {frame} is at {clock[row]:.6g} s, fps {rate:g} says {expected[row]:.6g} s"
