"""`--to mcap`: replays of a run as MCAP files of ROS 2 messages, for Foxglove and others."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import file_name, staged, write_bytes_atomic
from gapless.errors import DataError, MissingExtraError
from gapless.exports.exported import Exported
from gapless.exports.simulator_parts import SimulatorParts
from gapless.measurement.side_by_side import REAL, SideBySide, Track

STATE_TOPIC, COMMAND_TOPIC = "/joint_states", "/joint_commands"
"""The recorded robot: what ROS tools, and our own importer, look for."""
EPOCH = 1_700_000_000_000_000_000
"""Time of the first sample, ns: a replay has none of its own."""

STAMP = """================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
JOINT_STATE = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{STAMP}"""
POSE = f"""std_msgs/Header header
geometry_msgs/Pose pose
{STAMP}================================================================================
MSG: geometry_msgs/Pose
geometry_msgs/Point position
geometry_msgs/Quaternion orientation
================================================================================
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
================================================================================
MSG: geometry_msgs/Quaternion
float64 x
float64 y
float64 z
float64 w
"""
SCHEMAS = {"sensor_msgs/msg/JointState": JOINT_STATE, "geometry_msgs/msg/PoseStamped": POSE}
JOINTS, POSES = SCHEMAS
Message = tuple[int, str, str, dict[str, Any]]
"""Time in ns, topic, schema and fields."""


def export_mcap(parts: SimulatorParts, path: Path, overwrite: bool = False) -> Exported:
    """Write a folder with one file a replay."""
    clips = parts.run.replays
    if not clips:
        raise DataError(f"{parts.run.path} keeps no replays: none of its motions were held out")
    with staged(path, overwrite) as folder:
        for k, clip in enumerate(clips):
            name = f"{k:02d}_{file_name(clip.title)}.mcap"
            write_bytes_atomic(folder / name, mcap_bytes(clip))
        files = tuple(sorted(p.name for p in folder.glob("*.mcap")))
    return Exported(path, "mcap", files)


def mcap_bytes(clip: SideBySide) -> bytes:
    """One replay: commands, the recorded robot and every simulator, a topic each."""
    try:
        from mcap.writer import CompressionType
        from mcap_ros2.writer import Writer
    except ImportError as error:
        raise MissingExtraError("mcap-ros2-support", "logs", "writing MCAP") from error
    file = io.BytesIO()
    writer = Writer(file, compression=CompressionType.NONE)
    known = {name: writer.register_msgdef(name, text) for name, text in SCHEMAS.items()}
    for time, topic, schema, message in sorted(_messages(clip), key=lambda m: (m[0], m[1])):
        writer.write_message(topic, known[schema], message, time, time)
    writer.finish()
    return file.getvalue()


def topic_of(track: str) -> str:
    """Where the joints of a track are: the recorded robot, or a simulator by its name."""
    return STATE_TOPIC if track == REAL else f"/simulated/{track}"


def _messages(clip: SideBySide) -> Iterator[Message]:
    yield from _joints(clip, COMMAND_TOPIC, clip.target)
    for name, track in clip.tracks.items():
        yield from _joints(clip, topic_of(name), track.q)
        yield from _base(clip, f"{topic_of(name)}/base", track)


def _joints(clip: SideBySide, topic: str, rows: np.ndarray) -> Iterator[Message]:
    for seconds, row in zip(clip.time, rows, strict=True):
        there = np.isfinite(row)
        if not there.any():  # nothing to compare: a replay that ended early
            continue
        time, header = _stamped(seconds)
        names = [joint for joint, known in zip(clip.joints, there, strict=True) if known]
        fields = {"header": header, "name": names, "position": row[there].tolist()}
        yield time, topic, JOINTS, {**fields, "velocity": [], "effort": []}


def _base(clip: SideBySide, topic: str, track: Track) -> Iterator[Message]:
    if track.base_pos is None or track.base_quat_wxyz is None:
        return
    for seconds, pos, quat in zip(clip.time, track.base_pos, track.base_quat_wxyz, strict=True):
        if not (np.isfinite(pos).all() and np.isfinite(quat).all()):
            continue
        time, header = _stamped(seconds)
        place = dict(zip("xyz", pos.tolist(), strict=True))
        turn = dict(zip("wxyz", quat.tolist(), strict=True))
        yield (
            time,
            topic,
            POSES,
            {"header": header, "pose": {"position": place, "orientation": turn}},
        )


def _stamped(seconds: float) -> tuple[int, dict[str, Any]]:
    time = EPOCH + round(seconds * 1e9)
    stamp = {"sec": time // 10**9, "nanosec": time % 10**9}
    return time, {"stamp": stamp, "frame_id": "world"}
