"""The messages of an MCAP file that concern joints, collected by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from gapless.errors import FormatError, MissingExtraError
from gapless.recordings.importers.mcap_sizes import refuse_bomb
from gapless.recordings.importers.size_limits import (
    MAX_ARRAY_BYTES,
    check_file,
    fails_by_machine,
    reading,
)

KINDS = ("JointState", "JointTrajectory", "Float64MultiArray", "LowState", "LowCmd")
JOINT_STATE = {"q": "position", "dq": "velocity", "torque": "effort"}
MOTOR_STATE = {"q": "q", "dq": "dq", "torque": "tau_est"}
MOTOR_COMMAND = {"q": "q", "target_dq": "dq", "torque_ff": "tau", "kp": "kp", "kd": "kd"}
IMU = {
    "imu_quat_wxyz": "quaternion",
    "imu_gyro": "gyroscope",
    "imu_acc": "accelerometer",
}


class MessageTrack:
    """All messages of one topic: two clocks, and values by channel."""

    def __init__(self, topic: str, kind: str) -> None:
        self.topic, self.kind = topic, kind
        self._log: list[int] = []
        self._stamp: list[int] = []
        self._names: list[tuple[str, ...]] = []
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._log)

    def add(self, log_time: int, message: Any) -> None:
        """Take one decoded message."""
        names, row = _PARSERS[self.kind](message)
        stamp = getattr(getattr(message, "header", None), "stamp", None)
        self._log.append(log_time)
        self._stamp.append(0 if stamp is None else stamp.sec * 10**9 + stamp.nanosec)
        self._names.append(names)
        self._rows.append(row)

    @property
    def stamps(self) -> np.ndarray:
        """(T,) True where the message was stamped by its sender."""
        return np.array(self._stamp) != 0

    def times(self, stamped: bool) -> np.ndarray:
        """(T,) integer nanoseconds."""
        return np.array(self._stamp if stamped else self._log, np.int64)

    def joint_names(self) -> tuple[str, ...]:
        """Every joint named, in order of first appearance."""
        return tuple(dict.fromkeys(name for names in dict.fromkeys(self._names) for name in names))

    def channels(
        self, joints: tuple[str, ...], given: tuple[str, ...] | None
    ) -> dict[str, np.ndarray]:
        """(T, J) arrays in the order of `joints`, and body channels; NaN where nothing was sent."""
        keys = dict.fromkeys(key for row in self._rows for key in row)
        if "q" not in keys:
            raise FormatError(f"{self.topic}: no message holds a position")
        return {key: self._channel(key, joints, given) for key in keys}

    def _channel(
        self, key: str, joints: tuple[str, ...], given: tuple[str, ...] | None
    ) -> np.ndarray:
        if key in IMU:
            return np.array([row[key] for row in self._rows], float)
        result = np.full((len(self), len(joints)), np.nan)
        place = {name: i for i, name in enumerate(joints)}
        for t, (names, row) in enumerate(zip(self._names, self._rows, strict=True)):
            values = row.get(key, ())
            names = names or given or joints
            if len(values) < len(names) and len(values):
                raise FormatError(
                    f"{self.topic}: a message has {len(values)} values of {key} "
                    f"for {len(names)} joints"
                )
            for name, value in zip(names, values, strict=False):
                if name in place:
                    result[t, place[name]] = value
        return result


def _joint_state(message: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    fields = {key: getattr(message, field) for key, field in JOINT_STATE.items()}
    return tuple(message.name), {key: values for key, values in fields.items() if len(values)}


def _trajectory(message: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    points = message.points
    return tuple(message.joint_names), {"q": points[0].positions} if points else {}


def _array(message: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return (), {"q": message.data}


def _low_state(message: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    imu = {channel: list(getattr(message.imu_state, field)) for channel, field in IMU.items()}
    return (), _motors(message.motor_state, MOTOR_STATE) | imu


def _low_command(message: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return (), _motors(message.motor_cmd, MOTOR_COMMAND)


def _motors(motors: Any, fields: dict[str, str]) -> dict[str, Any]:
    return {key: [getattr(motor, field) for motor in motors] for key, field in fields.items()}


_PARSERS: dict[str, Callable[[Any], tuple[tuple[str, ...], dict[str, Any]]]] = {
    "JointState": _joint_state,
    "JointTrajectory": _trajectory,
    "Float64MultiArray": _array,
    "LowState": _low_state,
    "LowCmd": _low_command,
}


def read_tracks(path: Path) -> tuple[dict[str, MessageTrack], list[str]]:
    """Collect the joint messages of a file; a file that ends early is read up to its end.

    Raises:
        FormatError: it is no MCAP file, a checksum fails, or nothing could be recovered.
    """
    tracks: dict[str, MessageTrack] = {}
    notes: list[str] = []
    with reading(str(path), "an MCAP file of joint messages as ROS 2 and Unitree define them"):
        for kind, topic, log_time, message in _messages(path, notes):
            tracks.setdefault(topic, MessageTrack(topic, kind)).add(log_time, message)
    if not tracks:
        raise FormatError(f"{path}: no message of the kinds {', '.join(KINDS)}")
    return tracks, notes


class _Within:
    """A stream of which no more is read at once than there is: a damaged length takes no memory."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._size = stream, size

    def read(self, size: int) -> bytes:
        return self._stream.read(min(size, self._size))


def _messages(path: Path, notes: list[str]) -> Iterator[tuple[str, str, int, Any]]:
    try:
        from mcap.exceptions import EndOfFile
        from mcap.reader import NonSeekingReader
        from mcap.stream_reader import CRCValidationError
        from mcap_ros2.decoder import DecoderFactory
    except ImportError as error:
        raise MissingExtraError("mcap-ros2-support", "logs", f"reading {path.name}") from error
    size = check_file(path, MAX_ARRAY_BYTES, "an MCAP file")
    refuse_bomb(path)
    count, last = 0, 0
    with path.open("rb") as stream:
        reader = NonSeekingReader(_Within(stream, size), validate_crcs=True)  # type: ignore[arg-type]
        factory = DecoderFactory()
        try:
            for schema, channel, message in reader.iter_messages(log_time_order=False):
                count, last = count + 1, message.log_time
                kind = "" if schema is None else schema.name.split("/")[-1]
                decode = factory.decoder_for(channel.message_encoding, schema)
                if kind in KINDS and decode is not None:
                    yield kind, channel.topic, message.log_time, decode(message.data)
        except CRCValidationError as error:
            raise FormatError(
                f"{path}: a checksum fails after {count} messages ({error}): the file is corrupt; "
                "copy it again, or cut it with 'mcap recover'"
            ) from error
        except EndOfFile as error:
            if count == 0:
                raise FormatError(f"{path} ({size} bytes) ends before its first message") from error
            notes.append(
                f"the file ends early (no footer): {count} messages were recovered, "
                f"the last at {last / 1e9:.3f} s"
            )
        except Exception as error:  # a damaged chunk fails in its decompressor or its decoder
            if fails_by_machine(error):
                raise
            raise FormatError(
                f"{path} ({size} bytes) is not a readable MCAP file: {type(error).__name__} after "
                f"{count} messages: {error}"
            ) from error
