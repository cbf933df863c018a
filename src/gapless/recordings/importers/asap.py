"""ASAP: motion pickles (with actions or without), and the real robot's .npz logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions, safe_pickle
from gapless.recordings.importers.named_arrays import clock, matrix, positive, width_of
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.rawlog import Pairing, RawLog, Stream

_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_WAIST = ("waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_WRIST = ("wrist_roll", "wrist_pitch", "wrist_yaw")


def _side(side: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{side}_{part}_joint" for part in parts)


_LEGS = (*_side("left", _LEG), *_side("right", _LEG))
JOINTS_23 = (*_LEGS, *_WAIST, *_side("left", _ARM), *_side("right", _ARM))
"""G1 as ASAP trains it: the wrists locked."""
JOINTS_29 = (*_LEGS, *_WAIST, *_side("left", _ARM + _WRIST), *_side("right", _ARM + _WRIST))
"""G1 as the robot's own motor order has it."""

ACTION_SCALE = 0.25
_DEFAULT_LEG = (-0.1, 0.0, 0.0, 0.3, -0.2, 0.0)
DEFAULT_POSE = np.array([*_DEFAULT_LEG, *_DEFAULT_LEG, *([0.0] * 11)])
"""ASAP's default angles of the 23 joints: an action is an offset from these, times 0.25."""

NPZ_CHANNELS = {
    "joint_pos": "q",
    "joint_pos_cmd": "target",
    "joint_vel": "dq",
    "tau_est": "torque",
    "joint_vel_cmd": "target_dq",
    "tau_cmd": "torque_ff",
    "IMU_quaternion": "imu_quat_wxyz",
    "IMU_gyro": "imu_gyro",
    "IMU_acc": "imu_acc",
    "pos": "base_pos",
    "quat": "base_quat_wxyz",
    "lin_vel": "base_lin_vel_w",
    "ang_vel": "base_ang_vel_b",
}
XYZW = "base_quat_wxyz"
FEED_FORWARD = ("target_dq", "torque_ff")
"""Channels that say nothing where they are zero throughout."""


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read the motions of every .pkl and the log of every .npz."""

    def load(path: Path) -> list[RawLog]:
        return [_robot_log(path, options)] if path.suffix == ".npz" else _motions(path, options)

    return collect(files(source, ".pkl", ".npz"), load, options.problems)


def _motions(path: Path, options: ReadOptions) -> list[RawLog]:
    content = safe_pickle.read_pickle(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise FormatError(f"{path}: an ASAP file is a dict of motions, each a dict of arrays")
    return [_motion(str(name), motion, path, options) for name, motion in content.items()]


def _motion(name: str, motion: dict[str, Any], path: Path, options: ReadOptions) -> RawLog:
    missing = [key for key in ("dof", "fps") if key not in motion]
    if missing:
        raise FormatError(
            f"{path}: motion {name!r} lacks {missing}; it has {sorted(map(str, motion))}"
        )
    where = f"{path}: motion {name!r}:"
    q = matrix(motion["dof"], f"{where} dof")
    joints = _joints(q.shape[1], path, options)
    time = clock(np.arange(len(q)) / positive(motion["fps"], f"{where} fps"), f"{where} dof")
    streams = {"q": Stream(time, q)} | _root(motion, time, where)
    pairing: Pairing = "timestamps"
    notes = ("a reference motion: nothing was commanded",)
    if "action" in motion:
        # The dump stores with state i the action that led to it.
        streams["target"] = Stream(time, _targets(motion["action"], q, where))
        pairing = "produced"
        notes = (f"targets are the default pose plus {ACTION_SCALE} times the logged actions",)
    return RawLog(name, joints, streams, pairing, "s", "rad", source=str(path), notes=notes)


def _root(motion: dict[str, Any], time: np.ndarray, where: str) -> dict[str, Stream]:
    streams = {}
    for key, channel, width in (("root_trans_offset", "base_pos", 3), ("root_rot", XYZW, 4)):
        if key in motion:
            values = matrix(motion[key], f"{where} {key}", len(time), width)
            streams[channel] = Stream(
                time, np.roll(values, 1, axis=1) if channel == XYZW else values
            )
    return streams


def _targets(action: Any, q: np.ndarray, where: str) -> np.ndarray:
    return DEFAULT_POSE + ACTION_SCALE * matrix(
        action, f"{where} action", len(q), len(DEFAULT_POSE)
    )


def _robot_log(path: Path, options: ReadOptions) -> RawLog:
    data = load_npz(path)
    if "joint_pos" not in data or "time" not in data:
        raise FormatError(f"{path}: joint_pos and time were expected; it has {sorted(data)}")
    time = clock(data["time"], f"{path}: time")
    joints = _joints(matrix(data["joint_pos"], f"{path}: joint_pos").shape[1], path, options)
    arrays = {
        channel: matrix(data[key], f"{path}: {key}", len(time), width_of(channel, len(joints)))
        for key, channel in NPZ_CHANNELS.items()
        if key in data
    }
    streams = {
        channel: Stream(time, values)
        for channel, values in arrays.items()
        if channel not in FEED_FORWARD or values.any()
    }
    gains, notes = _gains(path, data, joints)
    # The logger pairs the latest command with the latest state, so it acts after that state.
    conditions = Conditions(gains=gains)
    return RawLog(
        path.stem, joints, streams, "acts_after", "s", "rad", conditions, str(path), notes
    )


def _joints(count: int, path: Path, options: ReadOptions) -> tuple[str, ...]:
    known = options.joint_order or {23: JOINTS_23, 29: JOINTS_29}.get(count)
    if known is None or len(known) != count:
        given = "" if known is None else f" and the joint order names {len(known)}"
        raise FormatError(
            f"{path} has {count} unnamed joint columns{given}; ASAP's G1 has 23 or 29. "
            "Give the joint order"
        )
    return known


def _gains(
    path: Path, data: dict[str, np.ndarray], joints: tuple[str, ...]
) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
    if "kp" not in data or "kd" not in data:
        return {}, ()
    kp, kd = (
        matrix(np.atleast_2d(data[key]), f"{path}: {key}", columns=len(joints))
        for key in ("kp", "kd")
    )
    if not len(kp) or not len(kd):
        return {}, ()
    moving = np.ptp(kp, axis=0).any() or np.ptp(kd, axis=0).any()
    notes = ("gains change during the log; their medians are used",) if moving else ()
    rows = zip(joints, np.median(kp, axis=0), np.median(kd, axis=0), strict=True)
    return {joint: (float(p), float(d)) for joint, p, d in rows}, notes
