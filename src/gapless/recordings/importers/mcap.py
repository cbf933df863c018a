"""MCAP files: ROS 2 joint states and commands, and Unitree's low-level messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.mapping import conditions_of, read_mapping
from gapless.recordings.importers.mcap_messages import MessageTrack, read_tracks
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.rawlog import RawLog, Stream

KEYS = ("state_topic", "command_topic", "joints", "angle_unit", "conditions")
EXAMPLE = 'state_topic = "/joint_states"; command_topic = "/arm_controller/commands"'
COMMAND_KINDS = ("JointTrajectory", "Float64MultiArray", "LowCmd")
"""Not taken unasked, but for LowCmd: they carry a goal, or values without names."""
COMMAND_WORDS = ("command", "cmd", "target", "desired", "action")


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every .mcap file as one motion."""
    mapping = {} if options.mapping is None else read_mapping(options, KEYS, EXAMPLE)
    conditions = conditions_of(mapping, str(options.mapping))

    def load(path: Path) -> list[RawLog]:
        return [_log(path, mapping, options, conditions)]

    return collect(files(source, ".mcap"), load, options.problems)


def _log(
    path: Path, mapping: dict[str, Any], options: ReadOptions, conditions: Conditions
) -> RawLog:
    tracks, notes = read_tracks(path)
    state = _state(path, tracks, mapping)
    command = _command(path, tracks, mapping, state)
    given = options.joint_order or tuple(mapping.get("joints", ())) or None
    joints = _joints(path, state, given)
    used = [track for track in (state, command) if track is not None]
    notes += _unused(tracks, used)
    stamped = all(track.stamps.all() for track in used)
    if not stamped:
        notes.append("not every message has a header stamp: the recorder's log time is used")
    origin = min(int(track.times(stamped).min()) for track in used)
    clocks = [(track.times(stamped) - origin).astype(float) for track in used]
    streams = {
        name: Stream(clocks[0], values) for name, values in state.channels(joints, given).items()
    }
    if command is not None:
        channels = command.channels(joints, given)
        streams["target"] = Stream(clocks[1], channels.pop("q"))
        streams |= {
            name: Stream(clocks[1], channels[name])
            for name in ("target_dq", "torque_ff")
            if name in channels and np.any(channels[name])
        }
        conditions, notes = _gains(conditions, channels, joints, notes)
    return RawLog(
        path.stem,
        joints,
        streams,
        "timestamps",
        "ns",
        mapping.get("angle_unit", "rad"),
        conditions,
        str(path),
        tuple(notes),
    )


def _state(path: Path, tracks: dict[str, MessageTrack], mapping: dict[str, Any]) -> MessageTrack:
    if "state_topic" in mapping:
        return _named(path, tracks, mapping["state_topic"])
    found = [t for t in tracks.values() if t.kind == "LowState"] or [
        t for t in tracks.values() if t.kind == "JointState" and not _is_command(t.topic)
    ]
    if len(found) > 1:
        found = [t for t in found if t.topic.endswith("joint_states")] or found
    if len(found) != 1:
        raise FormatError(
            f"{path}: {len(found)} topics could be the joint states ({_listed(tracks)}); "
            f"name it in a mapping file: {EXAMPLE}"
        )
    return found[0]


def _command(
    path: Path, tracks: dict[str, MessageTrack], mapping: dict[str, Any], state: MessageTrack
) -> MessageTrack | None:
    if "command_topic" in mapping:
        return _named(path, tracks, mapping["command_topic"])
    kind = "LowCmd" if state.kind == "LowState" else "JointState"
    found = [
        t
        for t in tracks.values()
        if t is not state and t.kind == kind and (kind == "LowCmd" or _is_command(t.topic))
    ]
    if len(found) > 1:
        raise FormatError(
            f"{path}: {len(found)} topics could be the commands ({_listed(tracks)}); "
            f"name it in a mapping file: {EXAMPLE}"
        )
    return found[0] if found else None


def _unused(tracks: dict[str, MessageTrack], used: list[MessageTrack]) -> list[str]:
    """Say which topics were passed over though they may hold the commands."""
    left = {
        topic: track
        for topic, track in tracks.items()
        if track not in used and (track.kind in COMMAND_KINDS or _is_command(topic))
    }
    if not left:
        return []
    first = next(iter(left))
    return [
        f"not used, though they look like commands: {_listed(left)}; to take one, name it in a "
        f'mapping file: command_topic = "{first}"'
    ]


def _is_command(topic: str) -> bool:
    return any(word in topic.lower() for word in COMMAND_WORDS)


def _named(path: Path, tracks: dict[str, MessageTrack], topic: str) -> MessageTrack:
    if topic not in tracks:
        raise FormatError(f"{path}: no usable topic {topic!r}; it has {_listed(tracks)}")
    return tracks[topic]


def _listed(tracks: dict[str, MessageTrack]) -> str:
    return ", ".join(f"{t.topic} ({t.kind}, {len(t)})" for t in tracks.values()) or "none"


def _joints(path: Path, state: MessageTrack, given: tuple[str, ...] | None) -> tuple[str, ...]:
    named = state.joint_names()
    if named:
        return named
    if given is None:
        raise FormatError(
            f"{path}: {state.topic} ({state.kind}) carries no joint names; give the joint order, "
            "motor 0 first"
        )
    return given


def _gains(
    conditions: Conditions,
    channels: dict[str, np.ndarray],
    joints: tuple[str, ...],
    notes: list[str],
) -> tuple[Conditions, list[str]]:
    from dataclasses import replace

    if "kp" not in channels or conditions.gains:
        return conditions, notes
    kp, kd = channels["kp"], channels["kd"]
    if np.ptp(kp, axis=0).any() or np.ptp(kd, axis=0).any():
        notes = [*notes, "gains change during the log; their medians are used"]
    rows = zip(joints, np.median(kp, axis=0), np.median(kd, axis=0), strict=True)
    return replace(conditions, gains={j: (float(p), float(d)) for j, p, d in rows}), notes
