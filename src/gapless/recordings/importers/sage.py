"""SAGE motion folders: control.csv, state_motor.csv and, where logged, IMU and events."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.cells import column, has_values, lists, numbers, read_csv
from gapless.recordings.importers.size_limits import reading
from gapless.recordings.importers.source_files import collect, folders_with
from gapless.recordings.rawlog import RawLog, Stream

MOTOR_CHANNELS = {
    "positions": "q",
    "velocities": "dq",
    "torques": "torque",
    "temperature": "temperature",
    "temperatures": "temperature",
}
BASE_CHANNELS = {
    "imu_quat": "imu_quat_wxyz",
    "imu_gyro": "imu_gyro",
    "imu_accel": "imu_acc",
    "foot_force": "contact",
}


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every motion folder below a source; the motion is the folder's name."""
    folders = folders_with(source, "control.csv", "state_motor.csv")
    return collect(folders, lambda folder: [_motion(folder, options)], options.problems)


def _motion(folder: Path, options: ReadOptions) -> RawLog:
    if not (folder / "state_motor.csv").exists():
        raise FormatError(
            f"{folder} has no state_motor.csv: a recording needs measured positions, and "
            "commands alone (control.csv) are a motion to replay, not a recording"
        )
    streams = _streams(folder / "state_motor.csv", MOTOR_CHANNELS)
    if "q" not in streams:
        raise FormatError(
            f"{folder / 'state_motor.csv'}: the column 'positions' is missing or empty"
        )
    if (folder / "control.csv").exists():
        streams |= _streams(folder / "control.csv", {"positions": "target"})
    if (folder / "state_base.csv").exists():
        streams |= _streams(folder / "state_base.csv", BASE_CHANNELS)
    joints = _joints(folder, options, streams["q"].values.shape[1])
    streams, notes = _cut(streams, folder / "event.csv")
    # Microseconds on real robots, seconds in simulation: the unit is inferred from the data.
    return RawLog(
        folder.resolve().name, joints, streams, "timestamps", source=str(folder), notes=notes
    )


def _streams(path: Path, channels: dict[str, str]) -> dict[str, Stream]:
    table = read_csv(path)
    time = numbers(column(table, "timestamp", path), f"{path}: column 'timestamp'")
    present = {header: name for header, name in channels.items() if has_values(table, header)}

    def parse(header: str) -> Stream:
        return Stream(time, lists(column(table, header, path), f"{path}: column {header!r}"))

    with ThreadPoolExecutor() as pool:  # the parser leaves Python
        return dict(zip(present.values(), pool.map(parse, present), strict=True))


def _joints(folder: Path, options: ReadOptions, count: int) -> tuple[str, ...]:
    names, origin = options.joint_order, "the joint order given"
    places = [folder, *folder.resolve().parents[:3]]
    found = next((p / "joint_list.txt" for p in places if (p / "joint_list.txt").is_file()), None)
    if names is None and found is not None:
        with reading(str(found), "a list of joint names (UTF-8 text)"):
            names, origin = tuple(found.read_text(encoding="utf-8").split()), str(found)
    if names is None:
        raise FormatError(
            f"{folder}: no joint_list.txt here or in the three folders above, and {count} unnamed "
            "columns; add the file (one joint a line) or give the joint order"
        )
    if len(names) != count:
        raise FormatError(f"{folder}: {count} columns, but {origin} names {len(names)} joints")
    return names


def _cut(streams: dict[str, Stream], events: Path) -> tuple[dict[str, Stream], tuple[str, ...]]:
    """Keep the motion itself: the logger also writes the approach to the first pose."""
    if not events.exists():
        return streams, ()
    table = read_csv(events)
    names = column(table, "event", events).to_pylist()
    times = numbers(column(table, "timestamp", events), f"{events}: column 'timestamp'")
    if "MOTION_START" not in names:
        return streams, ("event.csv has no MOTION_START: nothing was cut",)
    first = names.index("MOTION_START")
    rest = names[first:]
    start = float(times[first])
    stop = float(times[first + rest.index("DISABLE")]) if "DISABLE" in rest else np.inf
    kept = {name: _window(stream, start, stop) for name, stream in streams.items()}
    if len(kept["q"].time) == 0:
        raise FormatError(f"{events}: no sample lies between MOTION_START {start} and {stop}")
    dropped = len(streams["q"].time) - len(kept["q"].time)
    return kept, (f"cut to MOTION_START..DISABLE: {dropped} state samples outside were dropped",)


def _window(stream: Stream, start: float, stop: float) -> Stream:
    inside = (stream.time >= start) & (stream.time <= stop)
    return Stream(stream.time[inside], stream.values[inside])
