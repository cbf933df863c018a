"""K-Scale: ktune actuator tests (JSON, degrees) and KOS policy runs (a pair of CSV files)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.cells import column, numbers, read_csv
from gapless.recordings.importers.size_limits import MAX_TEXT_BYTES, check_file, reading
from gapless.recordings.importers.source_files import collect, files, folders_with
from gapless.recordings.rawlog import RawLog, Stream

TEST_CHANNELS = {"position": "q", "commanded_position": "target", "torque": "torque"}

POLICY_JOINTS = tuple(
    f"kscale_policy/{side}_{part}"
    for side in ("left", "right")
    for part in ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle")
)
"""The policy's own joints: signs and zeros differ from the robot's, hence names of their own."""
_STANDING = (0.0, 0.0, -0.441, -0.195)
DEFAULT_STANDING = np.array([0.23, *_STANDING, -0.23, *_STANDING])
"""rad; outputs.csv holds targets relative to this pose."""
POLICY_GAINS = tuple((kp, 5.0) for kp in (300.0, 120.0, 120.0, 300.0, 40.0) * 2)
GRAVITY_TOLERANCE = 0.02


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every ktune .json and every folder with inputs.csv and outputs.csv."""
    tests = files(source, ".json")
    runs = folders_with(source, "inputs.csv", "outputs.csv")
    yield from collect(tests, lambda path: [_test(path)], options.problems)
    yield from collect(runs, lambda folder: [_run(folder)], options.problems)


def _test(path: Path) -> RawLog:
    check_file(path, MAX_TEXT_BYTES, "a JSON log")
    with reading(str(path), "a ktune log (an object with config.actuator_id and data[])"):
        content = json.loads(path.read_text(encoding="utf-8"))
        config, rows = content["config"], list(content["data"])
        actuator = config["actuator_id"] if "actuator_id" in config else config["actuator_ids"][0]
        gains = (float(config["kp"]), float(config["kd"]))
    if len(rows) < 2:
        raise FormatError(f"{path} holds {len(rows)} samples; at least two are needed")
    joint = f"actuator_{actuator}"
    time = _field(rows, "time_since_start", path)
    streams = {
        channel: Stream(time, _field(rows, key, path)[:, None])
        for key, channel in TEST_CHANNELS.items()
        if key != "torque" or key in rows[0]
    }
    chirp = "chirp_duration" in config
    if chirp:
        streams["target_dq"] = Stream(time, _rate_of_change(streams["target"]))
    # A sampling task pairs each state with the latest command sent, which therefore acts after it.
    return RawLog(
        name=f"{'chirp' if chirp else 'step'}/{joint}",
        joints=(joint,),
        streams=streams,
        pairing="acts_after",
        time_unit="s",
        angle_unit="deg",
        conditions=Conditions(mount="fixed", gains={joint: gains}),  # a leg hung from a frame
        source=str(path),
        notes=("the velocity commanded is not logged: derived from the position",) if chirp else (),
    )


def _rate_of_change(stream: Stream) -> np.ndarray:
    """A chirp commands velocity with position; a step commands position alone."""
    with np.errstate(divide="ignore", invalid="ignore"):  # repeated times are dropped later
        return np.gradient(stream.values, stream.time, axis=0)


def _field(rows: list[dict[str, Any]], key: str, path: Path) -> np.ndarray:
    try:
        return np.array([row[key] for row in rows], float)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{path}: {key!r} is missing or not a number in a sample") from error


def _run(folder: Path) -> RawLog:
    paths = [folder / "inputs.csv", folder / "outputs.csv"]
    missing = [p.name for p in paths if not p.exists()]
    if missing:
        raise FormatError(f"{folder} lacks {missing[0]}: states and targets come as a pair")
    states, targets = (read_csv(p) for p in paths)
    time = _columns(states, ["timestamp"], paths[0])[:, 0]
    quat, notes = _quaternion(states, paths[0])
    streams = {
        "q": Stream(time, _columns(states, [f"q_{i}" for i in range(10)], paths[0])),
        "dq": Stream(time, _columns(states, [f"dq_{i}" for i in range(10)], paths[0])),
        "imu_quat_wxyz": Stream(time, quat),
        "target": Stream(
            _columns(targets, ["timestamp"], paths[1])[:, 0],
            _columns(targets, [f"target_q_{i}" for i in range(10)], paths[1]) + DEFAULT_STANDING,
        ),
    }
    gains = dict(zip(POLICY_JOINTS, POLICY_GAINS, strict=True))
    return RawLog(
        folder.resolve().name,
        POLICY_JOINTS,
        streams,
        "timestamps",
        "s",
        "rad",
        Conditions(mount="free", gains=gains),
        str(folder),
        ("targets are target_q plus the policy's standing pose", *notes),
    )


def _columns(table: pa.Table, names: list[str], path: Path) -> np.ndarray:
    return np.stack([numbers(column(table, n, path), f"{path}: {n}") for n in names], axis=1)


def _quaternion(table: pa.Table, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """The logger writes x, y, z, w under the headers w, x, y, z; gravity tells which it was."""
    written = _columns(table, ["quat_w", "quat_x", "quat_y", "quat_z"], path)
    gravity = _columns(table, ["gvec_x", "gvec_y", "gvec_z"], path)
    swapped = np.roll(written, 1, axis=1)
    if _agrees(swapped, gravity):
        return swapped, ("quaternion columns hold x, y, z, w, as gravity shows; reordered",)
    if _agrees(written, gravity):
        return written, ()
    raise FormatError(f"{path}: quaternion and gravity columns disagree in either order of w")


def _agrees(wxyz: np.ndarray, gravity: np.ndarray) -> bool:
    w, x, y, z = wxyz.T
    down = -np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    return bool(np.abs(down - gravity).max() < GRAVITY_TOLERANCE)
