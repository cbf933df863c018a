"""Writers of tiny log files in other people's formats, for the tests of the importers."""

from __future__ import annotations

import csv
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np


def write_sage(folder: Path, q, target, time=None, joints=None, torque=None) -> Path:
    """A SAGE motion folder; `time` is in microseconds."""
    folder.mkdir(parents=True, exist_ok=True)
    time = np.arange(len(q)) * 20_000.0 if time is None else time
    cell = lambda row: str([float(x) for x in row])  # noqa: E731
    with (folder / "control.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["type", "timestamp", "positions"])
        rows.writerows(["CONTROL", t, cell(row)] for t, row in zip(time, target, strict=True))
    with (folder / "state_motor.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["type", "timestamp", "positions", "velocities", "torques"])
        torques = ["not_valid"] * len(q) if torque is None else [cell(row) for row in torque]
        state = zip(time, q, torques, strict=True)
        rows.writerows(["STATE_MOTOR", t, cell(row), cell(0 * row), tau] for t, row, tau in state)
    if joints is not None:
        (folder / "joint_list.txt").write_text("\n".join(joints) + "\n")
    return folder


class NumpyArrayWrapper:
    """The name joblib gives to an array whose bytes follow in the file."""

    def __init__(self, array: np.ndarray) -> None:
        self.subclass, self.shape, self.order = np.ndarray, array.shape, "C"
        self.dtype, self.allow_mmap = array.dtype, True


NumpyArrayWrapper.__module__ = "joblib.numpy_pickle"


class _JoblibPickler(pickle._Pickler):
    """joblib's layout: each array as a wrapper object, then padding, then its bytes."""

    def __init__(self, file, padded: bool) -> None:
        super().__init__(file, protocol=4)
        self.target, self.padded = file, padded

    def save(self, obj, save_persistent_id=True):
        if not isinstance(obj, np.ndarray):
            return super().save(obj, save_persistent_id)
        wrapper = NumpyArrayWrapper(obj)
        wrapper.numpy_array_alignment_bytes = 16 if self.padded else None
        super().save(wrapper)
        self.framer.commit_frame(force=True)
        if self.padded:
            pad = 16 - (self.target.tell() + 1) % 16
            self.target.write(bytes([pad]) + b"\xff" * pad)
        self.target.write(obj.tobytes() if obj.dtype != object else pickle.dumps(obj.tolist()))

    def save_global(self, obj, name=None):
        if obj is not NumpyArrayWrapper:
            return super().save_global(obj, name)
        for text in ("joblib.numpy_pickle", "NumpyArrayWrapper"):
            self.save(text)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    dispatch = {**pickle._Pickler.dispatch, type: save_global}  # noqa: RUF012


def joblib_bytes(content, padded: bool = True) -> bytes:
    """A joblib pickle."""
    file = io.BytesIO()
    _JoblibPickler(file, padded).dump(content)
    return file.getvalue()


class _Rebuild:
    """A tensor as torch pickles it."""

    def __init__(self, key: str, array: np.ndarray) -> None:
        self.key, self.array = key, array


class _TorchPickler(pickle._Pickler):
    def save(self, obj, save_persistent_id=True):
        if not isinstance(obj, _Rebuild):
            return super().save(obj, save_persistent_id)
        steps = tuple(s // obj.array.itemsize for s in obj.array.strides)
        self.write(pickle.GLOBAL + b"torch._utils\n_rebuild_tensor_v2\n" + pickle.MARK)
        self.write(pickle.MARK)
        self.save("storage")
        self.write(pickle.GLOBAL + b"torch\nFloatStorage\n")
        for part in (obj.key, "cpu", obj.array.size):
            self.save(part)
        self.write(pickle.TUPLE + pickle.BINPERSID)
        for part in (0, obj.array.shape, steps, False):
            self.save(part)
        self.write(
            pickle.GLOBAL + b"collections\nOrderedDict\n" + pickle.EMPTY_TUPLE + pickle.REDUCE
        )
        self.write(pickle.TUPLE + pickle.REDUCE)


def write_pt(path: Path, content: dict[str, np.ndarray], pickled: bytes | None = None) -> Path:
    """A file as torch.save writes it, of float32 tensors."""
    arrays = {str(i): np.asarray(a, np.float32) for i, a in enumerate(content.values())}
    file = io.BytesIO()
    tensors = [_Rebuild(key, array) for key, array in arrays.items()]
    _TorchPickler(file, protocol=2).dump(dict(zip(content, tensors, strict=True)))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", file.getvalue() if pickled is None else pickled)
        archive.writestr("archive/byteorder", "little")
        for key, array in arrays.items():
            archive.writestr(f"archive/data/{key}", array.tobytes(order="A"))
    return path


JOINT_STATE = """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
LOW_STATE = """IMUState imu_state
MotorState[3] motor_state
================================================================================
MSG: unitree_hg/IMUState
float32[4] quaternion
float32[3] gyroscope
float32[3] accelerometer
================================================================================
MSG: unitree_hg/MotorState
float32 q
float32 dq
float32 tau_est
"""
LOW_CMD = """MotorCmd[3] motor_cmd
================================================================================
MSG: unitree_hg/MotorCmd
float32 q
float32 dq
float32 tau
float32 kp
float32 kd
"""


def write_mcap(path: Path, messages, chunk_size: int = 2048, compression=None) -> Path:
    """An MCAP file of (topic, schema name, schema text, log time in ns, message) rows."""
    from mcap.writer import CompressionType
    from mcap_ros2.writer import Writer

    with path.open("wb") as file:
        compression = CompressionType.NONE if compression is None else compression
        writer = Writer(file, chunk_size=chunk_size, compression=compression)
        schemas = {}
        for topic, name, text, log_time, message in messages:
            schemas.setdefault(
                name, writer.register_msgdef(name, text) if name not in schemas else None
            )
            writer.write_message(topic, schemas[name], message, log_time, log_time)
        writer.finish()
    return path


def joint_states(topic: str, count: int, names=("hip", "knee"), stamped: bool = True):
    """JointState messages at 100 Hz whose position is (k, 10 k) and so on."""
    for k in range(count):
        time = 1_700_000_000_000_000_000 + k * 10_000_000
        stamp = (
            {"sec": time // 10**9, "nanosec": time % 10**9} if stamped else {"sec": 0, "nanosec": 0}
        )
        position = [float(k * 10**i) for i in range(len(names))]
        message = {
            "header": {"stamp": stamp, "frame_id": ""},
            "name": list(names),
            "position": position,
            "velocity": [0.5] * len(names),
            "effort": [],
        }
        yield topic, "sensor_msgs/msg/JointState", JOINT_STATE, time, message


def write_lerobot(root: Path, lengths=(5, 4), fps: int = 50, version: str = "v3.0") -> Path:
    """A LeRobot v3 dataset of two joints: state (index, -index), action twice that."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    total = sum(lengths)
    vector = {"dtype": "float32", "shape": [2], "names": ["hip.pos", "knee.pos"]}
    info = {"codebase_version": version, "fps": fps, "total_episodes": len(lengths)}
    info["total_frames"] = total
    scalars = ("timestamp", "frame_index", "episode_index", "index", "task_index")
    info["features"] = {"observation.state": vector, "action": vector}
    info["features"] |= {name: {"dtype": "int64", "shape": [1]} for name in scalars}
    (root / "meta/episodes/chunk-000").mkdir(parents=True)
    (root / "data/chunk-000").mkdir(parents=True)
    (root / "meta/info.json").write_text(json.dumps(info))
    episodes = {
        "episode_index": list(range(len(lengths))),
        "length": list(lengths),
        "tasks": [["wave"]] * len(lengths),
        "data/chunk_index": [0] * len(lengths),
        "data/file_index": [0] * len(lengths),
        "dataset_from_index": [sum(lengths[:i]) for i in range(len(lengths))],
        "dataset_to_index": [sum(lengths[: i + 1]) for i in range(len(lengths))],
    }
    pq.write_table(pa.table(episodes), root / "meta/episodes/chunk-000/file-000.parquet")
    state = [[float(i), float(-i)] for i in range(total)]
    frames = {
        "observation.state": pa.array(state, pa.list_(pa.float32(), 2)),
        "action": pa.array([[2 * a, 2 * b] for a, b in state], pa.list_(pa.float32(), 2)),
        "timestamp": pa.array([k / fps for n in lengths for k in range(n)], pa.float32()),
        "frame_index": [k for n in lengths for k in range(n)],
        "episode_index": [e for e, n in enumerate(lengths) for _ in range(n)],
        "index": list(range(total)),
        "task_index": [0] * total,
    }
    pq.write_table(pa.table(frames), root / "data/chunk-000/file-000.parquet")
    return root
