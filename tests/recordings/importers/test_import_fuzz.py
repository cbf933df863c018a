"""Damaged and misshapen files of every format: read, or refused with an error of our own."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import log_writers as writers
from gapless.errors import FormatError, GaplessError
from gapless.recordings.importers import ReadOptions, read

BYTE_CHANGES, SHAPE_CHANGES = 30, 25
TIME = np.arange(5.0) / 50
Q12, Q23 = np.ones((5, 12)), np.ones((5, 23))
GENERIC = {"t": TIME, "q": np.ones((5, 2)), "quat": np.ones((5, 4))}
MAPPING = {
    "time": "t",
    "joints": ["a", "b"],
    "q": "q",
    "base_quat_wxyz": "quat",
    "conditions": {
        "unit": "SN7",
        "payloads": {"hand": 1.5},
        "gains": {"a": [100, 2]},
        "held": {"c": 0.5},
        "extra": {"floor": "wood"},
    },
}
KTUNE = {
    "config": {"kp": 40.0, "kd": 8.0, "actuator_id": 45, "chirp_duration": 6},
    "data": [
        {"time_since_start": k, "position": k, "commanded_position": k, "torque": -k}
        for k in range(3)
    ],
}
ROBOT_LOG = {
    "time": TIME,
    **dict.fromkeys(("joint_pos", "joint_pos_cmd", "joint_vel", "tau_est", "kp", "kd"), Q23),
    "IMU_gyro": np.ones((5, 3)),
    "quat": np.ones((5, 4)),
}
WTW = {"time": TIME, "joint_pos": Q12, "joint_pos_target": Q12, "rpy": np.ones((5, 3))}
WTW["contact_state"] = np.ones((5, 4))
RAMPS = {
    "real_dof_positions": np.ones((2, 5)),
    "real_dof_positions_cmd": np.ones((2, 5)),
    "sim_dof_positions_cmd": np.ones((2, 5)),
    "joint_sequence": np.array(["a", "b"]),
}
BODY = {"real_dof_positions": np.ones((2, 5, 3)), "joint_names": np.array(["a", "b", "c"])}
BODY["joint_sequence"] = np.array(["c", "a"])
CHIRP = {"time": TIME, "dof_pos": np.ones((5, 2)), "des_dof_pos": np.ones((5, 2))}
MOTION = {
    "kick": {
        "dof": Q23,
        "fps": 30,
        "action": Q23,
        "root_trans_offset": np.ones((5, 3)),
        "root_rot": np.ones((5, 4)),
    }
}
TREES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "asap": ("asap", "a.npz", ROBOT_LOG),
    "asap motion": ("asap", "a.pkl", MOTION),
    "walk_these_ways": ("walk_these_ways", "a.npz", WTW),
    "gaponet": ("gaponet", "a.npz", RAMPS),
    "gaponet body": ("gaponet", "a.npz", BODY),
    "pace": ("pace", "a.pt", CHIRP),
    "kscale": ("kscale", "a.json", KTUNE),
    "generic": ("generic", "a.npz", GENERIC),
    "hdf5": ("generic", "a.h5", GENERIC),
    "mapping": ("generic", "a.toml", MAPPING),
}
"""Formats that are a tree of named values: format, file, content."""
ODD_ARRAYS = (
    lambda a: a[:-1],
    lambda a: a[..., :-1],
    lambda a: a[None],
    lambda a: a.ravel(),
    lambda a: a[:0],
    lambda a: np.float64(1.0) + np.zeros(()),
    lambda a: np.full(a.shape, "x"),
    lambda a: np.full(a.shape, np.nan),
    lambda a: np.ones(a.shape, complex),
    lambda a: np.ones(a.shape, bool),
)
ODD_VALUES = ("x", -1, 0, 1e400, [], [1, "x"], {}, {"x": [1]}, True, "\udce4", 10**400)


def odd(value: Any, random: np.random.Generator) -> Any:
    """Something else in the place of a value."""
    if isinstance(value, np.ndarray) and random.integers(3):
        return ODD_ARRAYS[random.integers(len(ODD_ARRAYS))](value)
    return ODD_VALUES[random.integers(len(ODD_VALUES))]


def changed(tree: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """A tree with one value, at any depth, dropped or replaced."""
    tree = copy.deepcopy(tree)
    node: Any = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[random.integers(len(keys))]
        inner = node[key]
        if not isinstance(inner, dict | list) or not inner or random.integers(3) == 0:
            break
        node = inner
    if random.integers(4) == 0:
        del node[key]
    else:
        node[key] = odd(inner, random)
    return tree


def toml(value: Any) -> str:
    """A TOML value; odd text and numbers come out as they are, which may be no TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_tree(path: Path, tree: dict[str, Any]) -> None:
    """Write a tree in the format of a file's suffix."""
    import h5py

    if path.suffix == ".npz":
        np.savez(path, **{k: v for k, v in tree.items() if not isinstance(v, int) or v < 2**63})
    elif path.suffix == ".pkl":
        path.write_bytes(writers.joblib_bytes(tree))
    elif path.suffix == ".pt":
        writers.write_pt(path, {k: np.real(np.asarray(v)) for k, v in tree.items()})
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            for name, value in tree.items():
                array = np.asarray(value)
                file[name] = array.astype("S") if array.dtype.kind == "U" else array
    elif path.suffix == ".toml":
        text = "\n".join(f"{k} = {toml(v)}" for k, v in tree.items())
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    else:
        path.write_text(json.dumps(tree))


def attempt(format: str, source: Path, mapping: Path | None, order: Any) -> bool:
    """Read a source; whether it was refused, by an error of our own that names the file."""
    options, told = ReadOptions(mapping=mapping, joint_order=order), []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(read(format, source, options))
    except GaplessError as error:
        told = [str(error)]
    told += options.problems
    assert all(str(source) in text or str(mapping) in text for text in told), told
    return bool(told)


@pytest.mark.parametrize("name", TREES)
def test_misshapen_content_is_read_or_refused(tmp_path, name, count=SHAPE_CHANGES):
    """One key dropped, or one value of another kind or shape: never a traceback."""
    format, file, tree = TREES[name]
    random = np.random.default_rng(1)
    mapping, order = tmp_path / "a.toml", ("a", "b") if format == "pace" else None
    write_tree(mapping, MAPPING)
    write_tree(tmp_path / "a.npz", GENERIC)
    refused = 0
    for number in range(count + 1):
        try:
            write_tree(tmp_path / file, tree if number == 0 else changed(tree, random))
        except (TypeError, ValueError, OverflowError):
            continue  # no such file can exist
        source = tmp_path / ("a.npz" if name == "mapping" else file)
        failed = attempt(format, source, mapping if format == "generic" else None, order)
        assert number or not failed
        refused += failed
    assert refused > count / 4


def sage(folder: Path) -> Path:
    """A SAGE folder with every file there can be."""
    values = np.ones((4, 2))
    writers.write_sage(folder, values, values, joints=["a", "b"], torque=values)
    header = "type,timestamp,imu_quat,imu_gyro,imu_accel\n"
    row = 'S,1,"[1, 0, 0, 0]","[0, 0, 0.5]","[0, 0, 9.8]"\n'
    (folder / "state_base.csv").write_text(header + row + row)
    (folder / "event.csv").write_text("type,timestamp,event,data\nEvent,1,MOTION_START,x\n")
    return folder


def kos(folder: Path) -> Path:
    """A KOS policy run."""
    folder.mkdir()
    tens = range(10)
    states = ["timestamp", *(f"q_{i}" for i in tens), *(f"dq_{i}" for i in tens)]
    states += ["quat_w", "quat_x", "quat_y", "quat_z", "gvec_x", "gvec_y", "gvec_z"]
    row = ",".join(["{}", *["0.5"] * 20, "1", "0", "0", "0", "0", "0", "-1"])
    rows = [row.format(k) for k in range(3)]
    (folder / "inputs.csv").write_text("\n".join([",".join(states), *rows]) + "\n")
    head = ",".join(["timestamp", *(f"target_q_{i}" for i in tens)])
    rows = [",".join([str(k), *["0.5"] * 10]) for k in range(3)]
    (folder / "outputs.csv").write_text("\n".join([head, *rows]) + "\n")
    return folder


def tables(folder: Path) -> Path:
    """The same table as CSV, Parquet, HDF5 and NPZ."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    columns = {"t": TIME, "q": list(GENERIC["q"]), "quat": list(GENERIC["quat"])}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    rows = [f'{t},"[1.0, 1.0]","[1, 1, 1, 1]"' for t in TIME]
    (folder / "a.csv").write_text("\n".join(["t,q,quat", *rows]) + "\n")
    write_tree(folder / "a.h5", GENERIC)
    write_tree(folder / "a.npz", GENERIC)
    return folder


def single(name: str):
    """A folder with one file of a tree."""

    def make(folder: Path) -> Path:
        folder.mkdir()
        write_tree(folder / TREES[name][1], TREES[name][2])
        return folder

    return make


def mcap(folder: Path) -> Path:
    """An MCAP file."""
    folder.mkdir()
    states = writers.joint_states("/joint_states", 5)
    writers.write_mcap(folder / "a.mcap", [*states, *writers.joint_states("/joint_cmd", 5)])
    return folder


def own_dataset(folder: Path) -> Path:
    """A LeRobot dataset with the facts gapless adds."""
    from gapless.recordings.recording import Recording
    from gapless.recordings.store.writer import DatasetWriter

    values = np.ones((5, 2))
    recording = Recording("wave", ("a", "b"), 50.0, values, values, values > 0, {"dq": values})
    with DatasetWriter(folder, "arm", ("a", "b"), 50) as writer:
        writer.append(recording)
    return folder


SOURCES = {
    "sage": ("sage", sage),
    "kscale run": ("kscale", kos),
    "kscale test": ("kscale", single("kscale")),
    "generic": ("generic", tables),
    "mcap": ("mcap", mcap),
    "lerobot": ("lerobot", writers.write_lerobot),
    "own lerobot": ("lerobot", own_dataset),
    "asap": ("asap", single("asap")),
    "asap motion": ("asap", single("asap motion")),
    "pace": ("pace", single("pace")),
    "gaponet": ("gaponet", single("gaponet")),
    "walk_these_ways": ("walk_these_ways", single("walk_these_ways")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_changed_bytes_are_read_or_refused(tmp_path, name, count=BYTE_CHANGES):
    """Some bytes of one file replaced, dropped or doubled: never a traceback."""
    format, make = SOURCES[name]
    source, random = make(tmp_path / "source"), np.random.default_rng(2)
    mapping, order = tmp_path / "a.toml", ("a", "b") if format == "pace" else None
    write_tree(mapping, MAPPING)
    mapping = mapping if format == "generic" else None
    assert not attempt(format, source, mapping, order)
    paths, refused = sorted(p for p in source.rglob("*") if p.is_file()), 0
    for _ in range(count):
        path = paths[random.integers(len(paths))]
        good = path.read_bytes()
        path.write_bytes(_damaged(good, random))
        refused += attempt(format, source, mapping, order)
        path.write_bytes(good)
    assert refused > count / 10


def _damaged(good: bytes, random: np.random.Generator) -> bytes:
    data = bytearray(good)
    for at in random.integers(len(data), size=random.integers(1, 5)):
        data[at] = random.integers(256)
    start, length = random.integers(len(data)), random.integers(1, 20)
    if random.integers(3) == 0:
        del data[start : start + length]
    elif random.integers(3) == 0:
        data[start:start] = data[start : start + length]
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("asap", "tau_est", Q23[:3], r"tau_est has shape \(3, 23\); \(5, 23\) expected"),
        ("asap", "kp", Q23[:, :4], r"kp has shape \(5, 4\); \(samples, 23\)"),
        ("walk_these_ways", "contact_state", np.ones((3, 4)), r"contact_state .* \(5, columns\)"),
        ("walk_these_ways", "rpy", np.ones(5), r"rpy has shape \(5,\); \(5, 3\) expected"),
        ("gaponet", "sim_dof_positions_cmd", np.ones((2, 4)), "sim_dof_positions_cmd has shape"),
        ("gaponet", "joint_sequence", np.array(["a"]), "2 rows, but joint_sequence has shape"),
        ("pace", "dof_pos", np.ones((4, 2)), r"dof_pos has shape \(4, 2\); \(5, columns\)"),
    ],
)
def test_messages_name_file_and_key(tmp_path, name, key, value, message):
    """A misshapen array is named, with the shape it has and the one expected."""
    format, file, tree = TREES[name]
    write_tree(tmp_path / file, {**tree, key: value})
    with pytest.raises(FormatError, match=rf"{file}: {message}"):
        list(
            read(format, tmp_path, ReadOptions(joint_order=("a", "b") if name == "pace" else None))
        )


@pytest.mark.parametrize(("key", "value"), [("fps", "fast"), ("fps", 0), ("dof", "x")])
def test_asap_text_for_a_number(tmp_path, key, value):
    """Motion, key and value are in the message."""
    write_tree(tmp_path / "a.pkl", {"kick": {**MOTION["kick"], key: value}})
    with pytest.raises(FormatError, match=rf"a\.pkl: motion 'kick': {key} is"):
        list(read("asap", tmp_path))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("rate", "fast", "rate is 'fast'; a number above zero"),
        ("time", ["t"], r"time is \['t'\]; text"),
        ("joints", 3, "joints is 3; a list of names"),
        ("q", 3, "the mapping of 'q' is 3"),
        ("joints", ["a", "a"], "joints names one twice"),
        ("conditions", 3, "conditions is 3; a table"),
        ("conditions", {"held": {"c": "x"}}, "held is .* expected a position in rad by joint"),
        ("conditions", {"held": 3}, "held is '3'"),
        ("conditions", {"unit": 3}, "unit is '3', expected text"),
        ("conditions", {"payloads": {"hand": -1}}, "kilograms, 0 or more"),
    ],
)
def test_mapping_values_of_the_wrong_kind(tmp_path, key, value, message):
    """The mapping file and its key are named before any table is opened."""
    write_tree(tmp_path / "a.npz", GENERIC)
    write_tree(tmp_path / "a.toml", {**MAPPING, key: value})
    with pytest.raises(FormatError, match=rf"a\.toml: .*{message}"):
        list(read("generic", tmp_path / "a.npz", ReadOptions(mapping=tmp_path / "a.toml")))


@pytest.mark.parametrize(
    "features", [[], {"observation.state": {"dtype": "float32", "shape": "two", "names": ["a"]}}]
)
def test_lerobot_features_of_the_wrong_kind(tmp_path, features):
    """A list of features, or a shape in words, is a problem of the dataset."""
    root = writers.write_lerobot(tmp_path / "set")
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps(info | {"features": features}))
    with pytest.raises(FormatError, match="cannot be used as a LeRobot"):
        list(read("lerobot", root))


def test_sage_joint_list_must_be_text(tmp_path):
    """A joint_list.txt in another encoding is named."""
    folder = sage(tmp_path / "wave")
    (folder / "joint_list.txt").write_bytes(b"\xff\xfea\x00")
    with pytest.raises(FormatError, match=r"joint_list\.txt is not a list of joint names \(UTF-8"):
        list(read("sage", tmp_path))
