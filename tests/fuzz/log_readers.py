"""Logs of every format: read, prepared, written as a dataset, and checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import log_writers
from fuzz.reader import Reader
from fuzz.small_arm import JOINTS, RATE, arm, clip, robot_named, wave
from gapless.recordings import Dataset, DatasetWriter, ImportOptions, check_dataset, import_dataset

MAPPING = """
time = "t"
joints = ["hip", "knee"]
q = "q"
target = "target"
pairing = "acts_after"
[conditions]
unit = "SN7"
payloads = { lower = 0.5 }
gains = { hip = [20, 1] }
extra = { floor = "wood" }
"""
STATE, COMMAND = "/joint_states", "/joint_cmd"
MCAP_MAPPING = f'state_topic = "{STATE}"\ncommand_topic = "{COMMAND}"\n'


def importing(format: str, robot: Callable[[], Any] = arm, **told: Any) -> Callable[..., None]:
    """Import, then check what was imported."""

    def use(source: Path, out: Path) -> None:
        mapping = source / "mapping.toml"
        options = dict(told) | ({"mapping": mapping} if "mapping" in told else {})
        given = source / "logs"
        import_dataset(format, given, robot(), out / "data", ImportOptions(**options))
        check_dataset(Dataset.open(out / "data"), robot())

    return use


def sage(folder: Path) -> None:
    """With an IMU, torques and events."""
    _, q, target = wave(arm())
    logs = log_writers.write_sage(folder / "logs" / "wave", q, target, None, JOINTS, 0.1 * q)
    rows = "\n".join(f'S,{k * 20000},"[1, 0, 0, 0]","[0, 0, 0]","[0, 0, 9.8]"' for k in range(150))
    (logs / "state_base.csv").write_text("type,timestamp,imu_quat,imu_gyro,imu_accel\n" + rows)
    (logs / "event.csv").write_text("type,timestamp,event,data\nEvent,1,MOTION_START,x\n")


def gaponet(folder: Path) -> None:
    """One joint."""
    _, q, target = wave(arm())
    (folder / "logs").mkdir()
    arrays = {"real_dof_positions": q[None, :, 0], "real_dof_positions_cmd": target[None, :, 0]}
    np.savez(folder / "logs" / "motor_hip.npz", **arrays)


def pace(folder: Path) -> None:
    """A chirp."""
    time, q, target = wave(arm())
    (folder / "logs").mkdir()
    log_writers.write_pt(
        folder / "logs" / "a.pt", {"time": time, "dof_pos": q, "des_dof_pos": target}
    )


def table(suffix: str) -> Callable[[Path], None]:
    """One table and its mapping."""

    def make(folder: Path) -> None:
        time, q, target = wave(arm())
        (folder / "logs").mkdir()
        (folder / "mapping.toml").write_text(MAPPING)
        WRITERS[suffix](folder / "logs" / f"a.{suffix}", time, q, target)

    return make


def _csv(path: Path, time: np.ndarray, q: np.ndarray, target: np.ndarray) -> None:
    rows = [f'{t},"{a.tolist()}","{b.tolist()}"' for t, a, b in zip(time, q, target, strict=True)]
    path.write_text("\n".join(["t,q,target", *rows]) + "\n")


def _npz(path: Path, time: np.ndarray, q: np.ndarray, target: np.ndarray) -> None:
    np.savez(path, t=time, q=q, target=target)


def _hdf5(path: Path, time: np.ndarray, q: np.ndarray, target: np.ndarray) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["t"], file["q"], file["target"] = time, q, target


def _parquet(path: Path, time: np.ndarray, q: np.ndarray, target: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"t": time, "q": list(q), "target": list(target)}), path)


WRITERS = {"csv": _csv, "npz": _npz, "h5": _hdf5, "parquet": _parquet}


def mcap(folder: Path) -> None:
    """States and commands of ROS 2."""
    _, q, target = wave(arm())
    (folder / "logs").mkdir()
    (folder / "mapping.toml").write_text(MCAP_MAPPING)
    rows: list[tuple[Any, ...]] = []
    for topic, values in ((STATE, q), (COMMAND, target)):
        for row, sent in zip(values, log_writers.joint_states(topic, len(q)), strict=True):
            message = sent[-1] | {"position": row.tolist(), "velocity": [], "effort": []}
            rows.append((*sent[:-1], message))
    log_writers.write_mcap(folder / "logs" / "a.mcap", sorted(rows, key=lambda row: row[3]))


def lerobot(folder: Path) -> None:
    """Other people's, of two episodes."""
    log_writers.write_lerobot(folder / "logs", lengths=(80, 60))


def own(folder: Path) -> None:
    """Our own dataset."""
    with DatasetWriter(folder / "logs", "arm", JOINTS, RATE) as writer:
        writer.append(clip())
        writer.append(clip("other", 1))


def asap(folder: Path) -> None:
    """A log of a G1."""
    time, q, target = wave(robot_named("g1_23dof"), 60)
    (folder / "logs").mkdir()
    like = dict.fromkeys(("joint_vel", "tau_est", "kp", "kd"), np.ones(q.shape))
    base = {"IMU_gyro": np.zeros((60, 3)), "quat": np.tile([1.0, 0, 0, 0], (60, 1))}
    np.savez(folder / "logs/a.npz", time=time, joint_pos=q, joint_pos_cmd=target, **like, **base)


def walk_these_ways(folder: Path) -> None:
    """A run of a quadruped."""
    time, q, target = wave(robot_named("go2"), 60)
    (folder / "logs").mkdir()
    more = {"rpy": np.zeros((60, 3)), "contact_state": np.ones((60, 4))}
    np.savez(folder / "logs/a.npz", time=time, joint_pos=q, joint_pos_target=target, **more)


def ktune(folder: Path) -> None:
    """A chirp of one motor of a K-Bot."""
    time, q, target = (array.tolist() for array in wave(robot_named("kbot_legs", "fixed")))
    row = ("time_since_start", "position", "commanded_position", "torque")
    rows = [
        dict(zip(row, (t, 57 * a[0], 57 * b[0], 0.1), strict=True))
        for t, a, b in zip(time, q, target, strict=True)
    ]
    config = {"kp": 40.0, "kd": 8.0, "actuator_id": 45, "chirp_duration": 6}
    (folder / "logs").mkdir()
    (folder / "logs/a.json").write_text(json.dumps({"config": config, "data": rows}))


def kos(folder: Path) -> None:
    """A policy run of a K-Bot."""
    time, q, target = wave(robot_named("kbot_legs", "fixed"), 60)
    (folder / "logs/run").mkdir(parents=True)
    tens = range(10)
    turn = ["quat_w", "quat_x", "quat_y", "quat_z", "gvec_x", "gvec_y", "gvec_z"]
    head = ["timestamp", *(f"q_{i}" for i in tens), *(f"dq_{i}" for i in tens), *turn]
    base = np.tile([1.0, 0, 0, 0, 0, 0, -1], (60, 1))
    _numbers(folder / "logs/run/inputs.csv", head, np.column_stack([time, q, 0 * q, base]))
    head = ["timestamp", *(f"target_q_{i}" for i in tens)]
    _numbers(folder / "logs/run/outputs.csv", head, np.column_stack([time, target]))


def _numbers(path: Path, head: list[str], rows: np.ndarray) -> None:
    lines = [",".join(map(str, row)) for row in rows.tolist()]
    path.write_text("\n".join([",".join(head), *lines]) + "\n")


def checking(source: Path, out: Path) -> None:
    """Open a dataset, find its robot, read and check and split every recording."""
    from gapless.recordings import split_recordings

    data = Dataset.open(source / "logs")
    check_dataset(data, arm())
    split_recordings(list(data))


GENERIC = {"mapping": ""}
G1, GO2 = partial(robot_named, "g1_23dof"), partial(robot_named, "go2")
KBOT = partial(robot_named, "kbot_legs", "fixed")
MAPPED = ("logs/*",)
READERS = (
    Reader("import sage", sage, importing("sage")),
    Reader("import gaponet", gaponet, importing("gaponet", hold="default")),
    Reader("import pace", pace, importing("pace", joint_order=JOINTS)),
    Reader("import csv", table("csv"), importing("generic", **GENERIC), MAPPED),
    Reader("import npz", table("npz"), importing("generic", **GENERIC), MAPPED),
    Reader("import hdf5", table("h5"), importing("generic", **GENERIC), MAPPED),
    Reader("import parquet", table("parquet"), importing("generic", **GENERIC), MAPPED),
    Reader("mapping", table("npz"), importing("generic", **GENERIC), ("*.toml",)),
    Reader("import mcap", mcap, importing("mcap", **GENERIC)),
    Reader("import lerobot", lerobot, importing("lerobot")),
    Reader("import our own", own, importing("lerobot")),
    Reader("import asap", asap, importing("asap", G1)),
    Reader("import walk_these_ways", walk_these_ways, importing("walk_these_ways", GO2)),
    Reader("import ktune", ktune, importing("kscale", KBOT, hold="default")),
    Reader("import kos", kos, importing("kscale", KBOT)),
    Reader("dataset", own, checking),
)
