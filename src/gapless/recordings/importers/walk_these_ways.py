"""walk-these-ways runs of a Go1 or Go2, converted from the deployment's log to .npz.

The pairing is proven by the log itself: its torques are computed in the deployment code as
kp (target - q) - kd dq, and reproduce exactly from target k and state k-1. So target k was issued
on state k-1, and state k is what it produced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.named_arrays import clock, matrix
from gapless.recordings.importers.npz import load_npz
from gapless.recordings.importers.source_files import collect, files
from gapless.recordings.rawlog import RawLog, Stream

JOINTS = tuple(
    f"{leg}_{part}_joint" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")
)
REQUIRED = ("joint_pos", "joint_pos_target", "time")
CHANNELS = {"joint_pos": "q", "joint_pos_target": "target", "joint_vel": "dq"}
DEFAULT_GAINS = (20.0, 0.5)


def read(source: Path, options: ReadOptions) -> Iterator[RawLog]:
    """Read every .npz as one run."""
    return collect(files(source, ".npz"), lambda p: [_run(p, options)], options.problems)


def _run(path: Path, options: ReadOptions) -> RawLog:
    data = load_npz(path)
    missing = [key for key in REQUIRED if key not in data]
    if missing:
        raise FormatError(f"{path} lacks {missing}; it has {sorted(data)}")
    joints = options.joint_order or JOINTS
    time = clock(data["time"], f"{path}: time")

    def get(key: str, columns: int | None) -> np.ndarray:
        return matrix(data[key], f"{path}: {key}", len(time), columns)

    streams = {n: Stream(time, get(k, len(joints))) for k, n in CHANNELS.items() if k in data}
    if "rpy" in data:
        streams["imu_quat_wxyz"] = Stream(time, _quaternion(get("rpy", 3)))
    if "contact_state" in data:
        streams["contact"] = Stream(time, get("contact_state", None))
    return RawLog(
        name=path.stem,
        joints=joints,
        streams=streams,
        pairing="produced",
        time_unit="s",
        angle_unit="rad",
        conditions=Conditions(mount="free", gains=dict.fromkeys(joints, _gains(data, path))),
        source=str(path),
        notes=("torques are computed from the commands, not measured: left out",)
        if "torques" in data
        else (),
    )


def _gains(data: dict[str, np.ndarray], path: Path) -> tuple[float, float]:
    if "cfg_json" not in data:
        return DEFAULT_GAINS
    try:
        control = json.loads(str(data["cfg_json"]))["control"]
        return float(control["stiffness"]["joint"]), float(control["damping"]["joint"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"{path}: cfg_json does not state control.stiffness.joint and damping.joint ({error!r})"
        ) from error


def _quaternion(rpy: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    finite = np.isfinite(rpy).all(axis=1)
    result = np.full((len(rpy), 4), np.nan)
    result[finite] = np.roll(Rotation.from_euler("xyz", rpy[finite]).as_quat(), 1, axis=1)
    return result
