"""Any table, CSV, NPZ, HDF5 or Parquet, with a mapping file that names its columns."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError, nearest
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.columns import open_columns
from gapless.recordings.importers.mapped_gains import MappedGains
from gapless.recordings.importers.mapping import conditions_of, read_mapping, trim_of
from gapless.recordings.importers.named_arrays import PER_JOINT, clock
from gapless.recordings.importers.number_source import LogFile
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.preparation.clock import SECONDS, infer_unit
from gapless.recordings.preparation.trimming import kept_rows
from gapless.recordings.rawlog import RawLog, Stream, Trim
from gapless.recordings.recording import BODY_CHANNELS

CHANNELS = (*PER_JOINT, *BODY_CHANNELS)
KEYS = (
    "time",
    "rate",
    "time_unit",
    "angle_unit",
    "pairing",
    "joints",
    "quat_order",
    "conditions",
    "gains",
    "servo",
    "start",
    "end",
    *CHANNELS,
)
GAIN = re.compile(r"(?i)(^|[_.])(kp|p_?gain|stiffness)([_.]|$)")
"""Names of arrays that people give to position gains."""
EXAMPLE = (
    'time = "t"; time_unit = "s"; angle_unit = "rad"; joints = ["hip", "knee"]; q = "q_{joint}"; '
    'target = "cmd_{joint}"; pairing = "acts_after"'
)


@dataclass(frozen=True)
class _Plan:
    """A mapping, understood: which columns make each channel, and where gains come from.

    Attributes:
        mapping: the file's content.
        joints: of every log, in the order of their columns.
        columns: channel -> its columns.
        conditions: of every log.
        gains: of each log.
        own_trim: the stretch that the mapping keeps of each log.
        trim: the stretch that counts, as the user may have said otherwise.
    """

    mapping: dict[str, Any]
    joints: tuple[str, ...]
    columns: dict[str, list[str]]
    conditions: Conditions
    gains: MappedGains
    own_trim: Trim | None
    trim: Trim | None


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every table of a source by one mapping; the motion is the file's name."""
    mapping = read_mapping(options, KEYS, EXAMPLE)
    joints = _joints(mapping, options)
    where = str(options.mapping)
    columns = {c: _names(mapping[c], c, joints, where) for c in CHANNELS if c in mapping}
    conditions, gains = conditions_of(mapping, where), MappedGains.of(mapping, joints, where)
    trim = trim_of(mapping, where)
    plan = _Plan(mapping, joints, columns, conditions, gains, trim, options.trim or trim)
    paths = files(source, ".csv", ".npz", ".h5", ".hdf5", ".parquet")
    return collect(paths, lambda path: [_table(path, plan)], options.problems)


def _joints(mapping: dict[str, Any], options: ReadOptions) -> tuple[str, ...]:
    joints = options.joint_order or tuple(mapping.get("joints", ()))
    missing = [key for key in ("q",) if key not in mapping]
    missing += [] if joints else ["joints"]
    missing += [] if "time" in mapping or "rate" in mapping else ["time (or rate)"]
    if missing:
        raise FormatError(f"{options.mapping}: {', '.join(missing)} missing; such as: {EXAMPLE}")
    return joints


def _table(path: Path, plan: _Plan) -> RawLog:
    mapping, joints, wanted = plan.mapping, plan.joints, plan.columns
    times = [mapping["time"]] if "time" in mapping else []
    with open_columns(path) as table:
        known = table.names()
        absent = [
            n for n in (*times, *(n for group in wanted.values() for n in group)) if n not in known
        ]
        if absent:
            listed = "; ".join(f"{name!r}.{nearest(name, known)}" for name in absent)
            raise FormatError(f"{path} has no column {listed} It has: {', '.join(sorted(known))}")
        values = {c: _join([table.get(n) for n in names]) for c, names in wanted.items()}
        time = table.get(times[0]) if times else np.arange(len(values["q"])) / mapping["rate"]
        time = clock(time, f"{path}: {times[0] if times else 'q'}")
        log = LogFile(path, table, joints, _rows(time, plan))
        gains, notes = plan.gains.gains(log), plan.gains.notes(log)
        notes += [] if plan.gains.kp or plan.conditions.gains else _unread_gains(known)
    _check(path, values, len(time), len(joints))
    return RawLog(
        name=path.stem,
        joints=joints,
        streams={c: Stream(time, _ordered(c, v, mapping)) for c, v in values.items()},
        pairing=mapping.get("pairing", "unknown"),
        time_unit=mapping.get("time_unit", None if times else "s"),
        angle_unit=mapping.get("angle_unit"),
        conditions=replace(plan.conditions, gains=plan.conditions.gains | gains),
        source=str(path),
        notes=tuple(notes),
        trim=plan.own_trim,
    )


def _unread_gains(known: set[str]) -> list[str]:
    """Of a mapping that says nothing of gains: arrays that look like some."""
    return [
        f"{name!r} looks like a gain, and the mapping does not use it: the robot's own counts in "
        f'every log; [gains] kp = {{ scalar = "{name}" }} reads it (column, where it has rows)'
        for name in sorted(known)
        if GAIN.search(name)
    ]


def _rows(time: np.ndarray, plan: _Plan) -> np.ndarray | None:
    """Rows that will be used, where a log is trimmed."""
    if plan.trim is None:
        return None
    unit = infer_unit(time, plan.mapping.get("time_unit", None if "time" in plan.mapping else "s"))
    return kept_rows(time * SECONDS[unit], plan.trim)


def _names(spec: Any, channel: str, joints: tuple[str, ...], where: str) -> list[str]:
    """Columns of a channel: a list, a pattern with {joint}, or one column of vectors."""
    if isinstance(spec, list) and spec and all(isinstance(name, str) for name in spec):
        return spec
    if isinstance(spec, str):
        one_a_joint = "{joint}" in spec and channel in PER_JOINT
        return [spec.replace("{joint}", joint) for joint in joints] if one_a_joint else [spec]
    raise FormatError(
        f"{where}: the mapping of {channel!r} is {spec!r}; a column name, a list of names, or "
        'a pattern such as "q_{joint}" was expected'
    )


def _join(columns: list[np.ndarray]) -> np.ndarray:
    parts = [c.reshape(len(c), math.prod(c.shape[1:])) for c in columns]
    if len({len(part) for part in parts}) > 1:
        raise FormatError(f"columns of one channel differ in length: {[len(p) for p in parts]}")
    return np.concatenate(parts, axis=1)


def _check(path: Path, values: dict[str, np.ndarray], samples: int, joints: int) -> None:
    for channel, array in values.items():
        width = joints if channel in PER_JOINT else BODY_CHANNELS[channel][0]
        if array.shape != (samples, width or array.shape[1]):
            raise FormatError(
                f"{path}: {channel} has shape {array.shape}, expected {(samples, width)}; "
                "check the mapping's joints and columns"
            )


def _ordered(channel: str, values: np.ndarray, mapping: dict[str, Any]) -> np.ndarray:
    if channel.endswith("_quat_wxyz") and mapping.get("quat_order") == "xyzw":
        return np.roll(values, 1, axis=1)
    return values
