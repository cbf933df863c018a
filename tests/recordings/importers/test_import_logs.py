"""K-Scale logs, MCAP files, LeRobot datasets and generic tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

import log_writers as writers
from gapless.errors import FormatError, NameMismatchError
from gapless.recordings.importers import FORMATS, ReadOptions, detect, read


def test_ktune_chirp(tmp_path):
    """One joint in degrees, with the gains of its config."""
    rows = [
        {"time_since_start": k / 100, "position": k, "commanded_position": 2 * k} for k in range(3)
    ]
    config = {"kp": 40.0, "kd": 8.0, "actuator_id": 45, "chirp_duration": 6}
    (tmp_path / "a.json").write_text(json.dumps({"config": config, "data": rows}))
    (log,) = read("kscale", tmp_path)
    assert (log.name, log.joints, log.angle_unit) == ("chirp/actuator_45", ("actuator_45",), "deg")
    assert log.conditions.gains == {"actuator_45": (40.0, 8.0)} and log.pairing == "acts_after"
    assert log.conditions.mount == "fixed"
    assert log.streams["target"].values.tolist() == [[0], [2], [4]]
    np.testing.assert_allclose(log.streams["target_dq"].values, 200)
    assert log.notes == ("the velocity commanded is not logged: derived from the position",)


def test_ktune_recordings(shared_data):
    """Five chirps with torque and five steps without, each with its own gains."""
    logs = list(read("kscale", shared_data / "kbot_leg"))
    chirps = [log for log in logs if log.name.startswith("chirp")]
    assert [log.joints[0] for log in chirps] == [f"actuator_{i}" for i in range(41, 46)]
    assert len(logs) == 10 and all("torque" in log.streams for log in chirps)
    gains = [log.conditions.gains[log.joints[0]] for log in chirps]
    assert gains == [(150, 8), (200, 8), (100, 4), (150, 8), (40, 8)]
    for log in chirps:
        assert 90 < 1 / np.median(np.diff(log.streams["q"].time)) < 100
        error = log.streams["q"].values - log.streams["target"].values
        assert 0.1 < np.sqrt(np.mean(error**2)) < 1.0


def test_kos_runs(shared_data):
    """Targets include the standing pose, and the quaternion agrees with logged gravity."""
    logs = list(read("kscale", shared_data / "kbot_walk"))
    assert [len(log.streams["q"].time) for log in logs] == [1468, 790]
    for log in logs:
        assert log.pairing == "timestamps" and log.joints[3] == "kscale_policy/left_knee"
        assert log.conditions.gains["kscale_policy/right_ankle"] == (40, 5)
        assert "reordered" in log.notes[1]
        assert np.abs(log.streams["imu_quat_wxyz"].values[:, 0]).min() > 0.5
    first = logs[0].streams["target"]
    assert first.values[0, 0] == pytest.approx(0.23 - 0.027476743)
    assert first.time[0] > logs[0].streams["q"].time[0]


def test_kos_needs_both_files(tmp_path):
    """A lone inputs.csv names its missing half."""
    (tmp_path / "inputs.csv").write_text("timestamp\n1\n")
    with pytest.raises(FormatError, match=r"lacks outputs\.csv"):
        list(read("kscale", tmp_path))


def test_mcap_joint_states_and_commands(tmp_path):
    """Two JointState topics: names map by name, header stamps give the clock in ns."""
    states = list(writers.joint_states("/joint_states", 5))
    commands = list(writers.joint_states("/joint_commands", 5, names=("knee", "hip")))
    writers.write_mcap(tmp_path / "walk.mcap", [*states, *commands])
    (log,) = read("mcap", tmp_path)
    assert (log.name, log.joints, log.time_unit) == ("walk", ("hip", "knee"), "ns")
    assert log.streams["q"].values[3].tolist() == [3, 30]
    assert log.streams["target"].values[3].tolist() == [30, 3]
    assert log.streams["q"].time[:3].tolist() == [0, 1e7, 2e7]
    assert log.streams["dq"].values[0, 0] == 0.5 and "torque" not in log.streams


def test_mcap_without_stamps_uses_log_time(tmp_path):
    """One unstamped message puts the whole log on the recorder's clock, with a note."""
    states = writers.joint_states("/joint_states", 5, stamped=False)
    (log,) = read("mcap", writers.write_mcap(tmp_path / "a.mcap", states))
    assert log.streams["q"].time[1] == 1e7 and "log time" in log.notes[0]


def test_mcap_topics_can_be_named(tmp_path):
    """Ambiguous topics are refused with a list; a mapping file decides."""
    topics = [*writers.joint_states("/left", 3), *writers.joint_states("/right", 3)]
    path = writers.write_mcap(tmp_path / "a.mcap", topics)
    with pytest.raises(FormatError, match=r"2 topics.*/left.*/right"):
        list(read("mcap", path))
    mapping = tmp_path / "m.toml"
    mapping.write_text('state_topic = "/left"\ncommand_topic = "/right"\n')
    (log,) = read("mcap", path, ReadOptions(mapping=mapping))
    assert {"q", "target"} <= set(log.streams)


ARRAY = "MultiArrayLayout layout\nfloat64[] data\n" + "=" * 80
ARRAY += "\nMSG: std_msgs/MultiArrayLayout\nuint32 data_offset\n"


def _array_commands(topic, count):
    for k in range(count):
        message = {"layout": {"data_offset": 0}, "data": [float(k), 2.0 * k]}
        time = 1_700_000_000_000_000_000 + k * 10_000_000
        yield topic, "std_msgs/msg/Float64MultiArray", ARRAY, time, message


def test_mcap_topics_that_look_like_commands_are_told(tmp_path):
    """An array of commands has no names, so it is not taken unasked; a note says how to take it."""
    states = list(writers.joint_states("/joint_states", 5))
    path = writers.write_mcap(tmp_path / "a.mcap", [*states, *_array_commands("/arm/commands", 5)])
    (log,) = read("mcap", path)
    assert "target" not in log.streams
    (note,) = log.notes
    assert "not used" in note and "/arm/commands (Float64MultiArray, 5)" in note
    assert 'command_topic = "/arm/commands"' in note
    (tmp_path / "m.toml").write_text('command_topic = "/arm/commands"\n')
    (log,) = read("mcap", path, ReadOptions(mapping=tmp_path / "m.toml"))
    assert log.streams["target"].values[3].tolist() == [3, 6]
    assert not any("not used" in note for note in log.notes)


def _unitree(count):
    for k in range(count):
        motor = {"q": 0.1 * k, "dq": 1.0, "tau_est": 2.0}
        imu = {"quaternion": [1, 0, 0, 0], "gyroscope": [0, 0, 0], "accelerometer": [0, 0, 9.8]}
        state = {"imu_state": imu, "motor_state": [motor] * 3}
        command = {"motor_cmd": [{"q": 0.2 * k, "dq": 0.0, "tau": 3.0, "kp": 100.0, "kd": 2.0}] * 3}
        yield "/lowstate", "unitree_hg/msg/LowState", writers.LOW_STATE, 10**9 + k * 10**7, state
        yield "/lowcmd", "unitree_hg/msg/LowCmd", writers.LOW_CMD, 10**9 + k * 10**7, command


def test_mcap_unitree_messages(tmp_path):
    """Motor arrays take the names given, in order; gains and IMU come along."""
    path = writers.write_mcap(tmp_path / "a.mcap", _unitree(4))
    with pytest.raises(FormatError, match="give the joint order"):
        list(read("mcap", path))
    (log,) = read("mcap", path, ReadOptions(joint_order=("a", "b")))
    assert log.streams["q"].values.shape == (4, 2)
    np.testing.assert_allclose(log.streams["target"].values[:, 1], 0.2 * np.arange(4), atol=1e-6)
    assert log.conditions.gains == {"a": (100.0, 2.0), "b": (100.0, 2.0)}
    assert log.streams["imu_acc"].values[0, 2] == pytest.approx(9.8)
    assert log.streams["torque_ff"].values.tolist() == [[3, 3]] * 4
    assert "target_dq" not in log.streams  # zero throughout


def test_lerobot_episodes(tmp_path):
    """Each episode is a log; the action of a frame acts after its state."""
    root = writers.write_lerobot(tmp_path / "set")
    first, second = read("lerobot", root)
    assert first.joints == ("hip", "knee") and first.pairing == "acts_after"
    assert (first.name, second.name) == ("episode_000000", "episode_000001")
    assert second.streams["q"].values[0].tolist() == [5, -5]
    assert second.streams["target"].values[1].tolist() == [12, -12]
    assert second.streams["q"].time.tolist() == pytest.approx([0, 0.02, 0.04, 0.06])
    assert first.angle_unit is None and first.conditions.extra == {"task": "wave"}


def test_lerobot_keeps_everything_of_an_own_dataset(tmp_path):
    """Name, conditions and every channel come back; masked samples are NaN, held joints absent."""
    from gapless.recordings.conditions import Conditions
    from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS, Recording
    from gapless.recordings.store.writer import DatasetWriter
    from gapless.robots.payload import Payload

    random, mask = np.random.default_rng(0), np.ones((6, 3), bool)
    mask[2, 1] = mask[:, 2] = False
    channels = {name: random.normal(size=(6, 3)) for name in JOINT_CHANNELS}
    channels |= {name: random.normal(size=(6, k or 4)) for name, (k, _) in BODY_CHANNELS.items()}
    load = {"hand": Payload(0.2, (0.0, 0.0, 0.1))}
    conditions = Conditions("SN1", "fixed", load, {"a": (10.0, 1.0)}, {"c": 0.5}, {"x": 21.0})
    q, target = random.normal(size=(2, 6, 3))
    made = Recording("wave", ("a", "b", "c"), 50.0, q, target, mask, channels, conditions)
    with DatasetWriter(tmp_path / "set", "arm", made.joints, 50) as writer:
        writer.append(made)
    (log,) = read("lerobot", tmp_path / "set")
    assert (log.name, log.joints, log.angle_unit) == ("wave", ("a", "b"), "rad")
    assert log.conditions == conditions
    assert log.streams.keys() == {"q", "target", *channels}
    expected = {**channels, "target": target, "q": np.where(mask, q, np.nan)}
    for name, values in expected.items():
        logged = values if name in BODY_CHANNELS else values[:, :2]
        np.testing.assert_allclose(log.streams[name].values, logged, rtol=1e-6)


def test_lerobot_without_names_or_actions(tmp_path):
    """Names may be given, and a dataset that commands nothing still has positions."""
    root = writers.write_lerobot(tmp_path / "set")
    info = json.loads((root / "meta/info.json").read_text())
    del info["features"]["action"], info["features"]["observation.state"]["names"]
    (root / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(FormatError, match="expected 2 different joint names"):
        list(read("lerobot", root))
    first, _ = read("lerobot", root, ReadOptions(joint_order=("a", "b")))
    assert first.joints == ("a", "b") and first.streams.keys() == {"q"}


MAPPING = """
time = "t"
time_unit = "ms"
angle_unit = "deg"
joints = ["hip", "knee"]
q = "{q}"
target = ["cmd_hip", "cmd_knee"]
base_quat_wxyz = "quat"
quat_order = "xyzw"
pairing = "acts_after"
[conditions]
unit = "SN7"
payloads = {{ hand = 1.5 }}
gains = {{ hip = [100, 2] }}
"""


def _table(folder, suffix):
    """One table, in one of four file formats."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"t": np.arange(4.0), "cmd_hip": np.ones(4), "cmd_knee": 2 * np.ones(4)}
    q, quat = np.arange(8.0).reshape(4, 2), np.tile([0.1, 0.2, 0.3, 0.9], (4, 1))
    path = folder / f"walk.{suffix}"
    if suffix == "csv":
        quoted = [f'"{list(map(float, row))}"' for row in quat]
        head = "t,cmd_hip,cmd_knee,q_hip,q_knee,quat"
        rows = [f"{k},1,2,{q[k, 0]},{q[k, 1]},{quoted[k]}" for k in range(4)]
        path.write_text("\n".join([head, *rows]) + "\n")
    elif suffix == "npz":
        np.savez(path, q=q, quat=quat, **columns)
    elif suffix == "parquet":
        pq.write_table(pa.table({**columns, "q": list(q), "quat": list(quat)}), path)
    else:
        with h5py.File(path, "w") as file:
            for name, values in {**columns, "q": q, "quat": quat}.items():
                file[name] = values
    return path


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet", "h5"])
def test_generic_tables(tmp_path, suffix):
    """The same mapping reads the same log from every file format."""
    path = _table(tmp_path, suffix)
    mapping = tmp_path / "m.toml"
    mapping.write_text(MAPPING.format(q="q_{joint}" if suffix == "csv" else "q"))
    (log,) = read("generic", path, ReadOptions(mapping=mapping))
    assert (log.name, log.time_unit, log.angle_unit) == ("walk", "ms", "deg")
    assert log.streams["q"].values.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert log.streams["target"].values[0].tolist() == [1, 2]
    assert log.streams["base_quat_wxyz"].values[0].tolist() == [0.9, 0.1, 0.2, 0.3]
    assert log.conditions.payload_mass == 1.5 and log.conditions.gains == {"hip": (100, 2)}


def test_generic_missing_columns_are_listed_at_once(tmp_path):
    """Every absent column is named, with its nearest neighbour."""
    path = _table(tmp_path, "csv")
    mapping = tmp_path / "m.toml"
    mapping.write_text('time = "tt"\njoints = ["hipp", "knee"]\nq = "q_{joint}"\n')
    with pytest.raises(FormatError, match=r"'tt'.*'q_hipp'\. Did you mean 'q_hip'"):
        list(read("generic", path, ReadOptions(mapping=mapping)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tmie = "t"', "'tmie' is not a key.*Did you mean 'time'"),
        ('time = "t"\ntime_unit = "minutes"', "expected one of s, ms, us, ns"),
        ('time = "t"\nq = "q"', "joints missing"),
        ("time = ", "no valid TOML file"),
    ],
)
def test_generic_mapping_errors(tmp_path, text, message):
    """A wrong mapping is explained before any table is opened."""
    path = _table(tmp_path, "csv")
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(FormatError, match=message):
        list(read("generic", path, ReadOptions(mapping=tmp_path / "m.toml")))


def test_unknown_formats_and_sources(tmp_path):
    """The format is corrected, a missing source named, a wrong one recognised."""
    with pytest.raises(NameMismatchError, match="Did you mean 'sage'"):
        read("sagee", tmp_path)
    with pytest.raises(FormatError, match="does not exist"):
        read("sage", tmp_path / "nowhere")
    writers.write_sage(tmp_path / "w", np.ones((3, 1)), np.ones((3, 1)), joints=["a"])
    with pytest.raises(FormatError, match=r"nothing to import.*\*\.mcap.*looks like 'sage'"):
        list(read("mcap", tmp_path))


def test_every_format_has_a_reader():
    """Each entry of the table names a module with `read`."""
    from importlib import import_module

    for format in FORMATS.values():
        module = import_module(f"gapless.recordings.importers.{format.module}")
        assert callable(module.read) and format.summary


@pytest.mark.parametrize(
    ("folder", "format"),
    [
        ("so101", "sage"),
        ("h1_2/origin", "gaponet"),
        ("kbot_leg", "kscale"),
        ("kbot_walk", "kscale"),
        ("go2", "walk_these_ways"),
        ("motions/asap_g1_23dof", "asap"),
    ],
)
def test_real_sources_are_recognised(shared_data, folder, format):
    """The guess used in hints is right on real data."""
    assert detect(shared_data / folder) == format
