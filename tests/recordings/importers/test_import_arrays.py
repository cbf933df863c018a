"""Array files: GAPONet, walk-these-ways, ASAP robot logs and motions, PACE."""

from __future__ import annotations

import gzip
import pickle
import zlib

import numpy as np
import pytest

import log_writers as writers
from gapless.errors import FormatError
from gapless.recordings.importers import ReadOptions, read
from gapless.recordings.importers.asap import DEFAULT_POSE, JOINTS_23, JOINTS_29
from gapless.recordings.importers.pace import load_pt
from gapless.recordings.importers.safe_pickle import read_pickle


def _ramps(path, q, **extra):
    np.savez(path, real_dof_positions=q, real_dof_positions_cmd=q + 1, **extra)


def test_gaponet_rows_are_logs_of_one_joint(tmp_path):
    """The joint comes from the file's name, the clock is 50 Hz, the load is unknown."""
    _ramps(tmp_path / "motor_left_elbow_joint.npz", np.arange(6.0).reshape(2, 3))
    first, second = read("gaponet", tmp_path)
    assert (first.name, first.joints) == ("left_elbow_joint_ramp/000", ("left_elbow_joint",))
    assert second.streams["target"].values.tolist() == [[4], [5], [6]]
    assert second.streams["q"].time.tolist() == [0, 0.02, 0.04]
    assert first.conditions.payloads is None and first.pairing == "acts_after"
    assert first.conditions.mount == "fixed"  # the pelvis was held


def test_gaponet_unloaded_rows_are_labelled_once(tmp_path):
    """Rows that the _0kg file repeats are marked unloaded, not imported twice."""
    q = np.arange(9.0).reshape(3, 3)
    _ramps(tmp_path / "motor_elbow.npz", q)
    _ramps(tmp_path / "motor_elbow_0kg.npz", q[1:2])
    logs = list(read("gaponet", tmp_path))
    assert [log.conditions.payloads for log in logs] == [None, {}, None]
    assert {log.conditions.mount for log in logs} == {"fixed"}
    (alone,) = read("gaponet", tmp_path / "motor_elbow_0kg.npz")
    assert alone.conditions.payloads == {} and alone.joints == ("elbow",)


def test_gaponet_rows_with_two_commands_are_left_out(tmp_path):
    """Where the simulated side was commanded otherwise, the row is a problem."""
    q = np.zeros((2, 4))
    sim = np.stack([np.ones(4), 3 * np.ones(4)])
    names = np.array(["left_a", "right_a"])
    _ramps(tmp_path / "v1.npz", q, sim_dof_positions_cmd=sim, joint_sequence=names)
    options = ReadOptions()
    assert [log.name for log in read("gaponet", tmp_path, options)] == ["v1/left_a_ramp/000"]
    assert "rows [1] were left out" in options.problems[0]


def test_gaponet_whole_body_columns_are_taken_by_name(tmp_path):
    """joint_sequence picks from joint_names; without names the order must be given."""
    q = np.arange(12.0).reshape(1, 4, 3)
    names, wanted = np.array(["a", "b", "c"]), np.array(["c", "a"])
    _ramps(tmp_path / "x.npz", q, joint_names=names, joint_sequence=wanted)
    (log,) = read("gaponet", tmp_path)
    assert log.joints == ("c", "a") and log.streams["q"].values[0].tolist() == [2, 0]
    _ramps(tmp_path / "x.npz", q, joint_sequence=wanted)
    with pytest.raises(FormatError, match="give the joint order"):
        list(read("gaponet", tmp_path))


def test_gaponet_h1_2(shared_data):
    """949 ramps of ten joints, 118 of them unloaded; 15 v1 rows and 2 whole-body clips."""
    options = ReadOptions()
    logs = list(read("gaponet", shared_data / "h1_2", options))
    ramps = [log for log in logs if "/origin/" in log.source]
    assert len(ramps) == 949 and len({log.joints for log in ramps}) == 10
    assert sum(log.conditions.payloads == {} for log in ramps) == 118
    assert all(log.streams["q"].values.shape == (50, 1) for log in ramps)
    assert len({log.name for log in logs}) == len(logs) == 949 + 15 + 2
    assert len(options.problems) == 1 and "motor_v1_sim_and_real" in options.problems[0]
    first = next(log for log in ramps if log.name == "left_elbow_joint_ramp/000")
    assert first.streams["q"].values[0, 0] == pytest.approx(-0.29778)
    assert first.streams["torque"].values[0, 0] == -8.4375
    clip = next(log for log in logs if log.name == "amass_2clips_27dof/000")
    elbow = clip.joints.index("left_elbow_joint")
    assert clip.streams["q"].values[0, elbow] == pytest.approx(1.22629)


def test_gaponet_torque_follows_the_command_before(shared_data):
    """The pairing is what the data shows: torque k fits command k-1 better than any other."""
    for path in sorted((shared_data / "h1_2" / "origin").glob("*_joint.npz")):
        logs = list(read("gaponet", path))
        residual = {}
        for shift in (-2, -1, 0, 1):
            rows = [_torque_terms(log, shift) for log in logs]
            terms, torque = (np.concatenate(parts) for parts in zip(*rows, strict=True))
            gains, *_ = np.linalg.lstsq(terms, torque, rcond=None)
            residual[shift] = np.sqrt(np.mean((terms @ gains - torque) ** 2))
        assert min(residual, key=residual.__getitem__) == -1, path


def _torque_terms(log, shift):
    q, target, dq, torque = (log.streams[k].values[:, 0] for k in ("q", "target", "dq", "torque"))
    at = np.arange(3, len(q) - 3)
    terms = np.stack([target[at + shift] - q[at], dq[at], np.ones(len(at)), q[at]], axis=1)
    return terms, torque[at]


def _wtw(path, **extra):
    time = np.arange(4)[:, None] * 0.02
    values = np.ones((4, 12))
    np.savez(
        path, time=time, joint_pos=values, joint_pos_target=2 * values, torques=values, **extra
    )


def test_walk_these_ways_run(tmp_path):
    """Computed torques are left out, angles become a quaternion, gains come from the config."""
    config = '{"control": {"stiffness": {"joint": 30.0}, "damping": {"joint": 0.7}}}'
    _wtw(tmp_path / "a.npz", rpy=np.tile([0, 0, np.pi / 2], (4, 1)), cfg_json=np.array(config))
    (log,) = read("walk_these_ways", tmp_path)
    assert log.pairing == "produced" and "torque" not in log.streams
    assert log.joints[:4] == ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint", "FR_hip_joint")
    assert log.conditions.gains["RR_calf_joint"] == (30.0, 0.7)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(log.streams["imu_quat_wxyz"].values[0], [half, 0, 0, half])
    assert "not measured" in log.notes[0]


def test_walk_these_ways_default_gains(tmp_path):
    """Without a config the deployment's own gains hold."""
    _wtw(tmp_path / "a.npz")
    (log,) = read("walk_these_ways", tmp_path)
    assert log.conditions.gains["FL_hip_joint"] == (20.0, 0.5)


def test_walk_these_ways_pairing_is_proven_by_the_log(shared_data):
    """The logged torques are those of target k on state k-1, so target k produced state k."""
    logs = list(read("walk_these_ways", shared_data / "go2"))
    assert [len(log.streams["q"].time) for log in logs] == [54, 254, 288, 341, 204]
    for log in logs:
        torque = np.load(log.source)["torques"]
        q, dq, target = (log.streams[k].values for k in ("q", "dq", "target"))
        np.testing.assert_allclose(
            torque[1:], 20 * (target[1:] - q[:-1]) - 0.5 * dq[:-1], atol=1e-9
        )
        assert log.pairing == "produced" and log.conditions.gains["FL_hip_joint"] == (20, 0.5)


def _motion(**extra):
    count = 5
    return {
        "dof": np.arange(count * 23, dtype=np.float32).reshape(count, 23),
        "root_trans_offset": np.ones((count, 3)),
        "root_rot": np.tile([0.1, 0.2, 0.3, 0.9], (count, 1)),
        "fps": 30,
        **extra,
    }


@pytest.mark.parametrize("pack", ["plain", "zlib", "gzip", "numpy2", "numpy5"])
def test_asap_motion(tmp_path, pack):
    """A motion pickle, however joblib or numpy wrote it, gives positions and base pose."""
    content = {"kick": _motion()}
    data = {
        "plain": lambda: writers.joblib_bytes(content),
        "zlib": lambda: zlib.compress(writers.joblib_bytes(content, padded=False)),
        "gzip": lambda: gzip.compress(writers.joblib_bytes(content, padded=False)),
        "numpy2": lambda: pickle.dumps(content, 2),
        "numpy5": lambda: pickle.dumps(content, 4),
    }[pack]()
    (tmp_path / "a.pkl").write_bytes(data)
    (log,) = read("asap", tmp_path)
    assert log.name == "kick" and log.joints == JOINTS_23 and "target" not in log.streams
    np.testing.assert_array_equal(log.streams["q"].values, content["kick"]["dof"])
    assert log.streams["base_quat_wxyz"].values[0].tolist() == [0.9, 0.1, 0.2, 0.3]
    assert log.streams["q"].time[3] == pytest.approx(0.1)


def test_asap_actions_become_absolute_targets(tmp_path):
    """Targets are the default pose plus a quarter of the action that produced the state."""
    action = np.full((5, 23), 2.0)
    (tmp_path / "a.pkl").write_bytes(writers.joblib_bytes({"kick": _motion(action=action)}))
    (log,) = read("asap", tmp_path)
    assert log.pairing == "produced"
    np.testing.assert_allclose(log.streams["target"].values[2], DEFAULT_POSE + 0.5)


def test_asap_scalars_and_text(tmp_path):
    """numpy scalars and text inside a pickle are plain values."""
    content = {"fps": np.float32(30), "n": np.int64(4), "name": "kick", "list": [1, (2.5, None)]}
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(content))
    assert read_pickle(tmp_path / "a.pkl") == content


@pytest.mark.parametrize("joints", [JOINTS_23, JOINTS_29])
def test_asap_robot_log(tmp_path, joints):
    """The robot's own log: absolute commands that act after the state, gains from the file."""
    count, n = 4, len(joints)
    arrays = dict.fromkeys(
        ("joint_pos", "joint_vel", "tau_est", "joint_pos_cmd", "joint_vel_cmd"), np.ones((count, n))
    )
    arrays["tau_cmd"] = np.zeros((count, n))
    gains = {"kp": np.full((count, n), 90.0), "kd": np.full((count, n), 2.0)}
    np.savez(tmp_path / "a.npz", time=np.arange(count) / 50, quat=np.eye(4), **arrays, **gains)
    (log,) = read("asap", tmp_path)
    assert log.joints == joints and log.pairing == "acts_after"
    assert log.conditions.gains["left_knee_joint"] == (90.0, 2.0)
    assert {"target", "target_dq", "torque", "base_quat_wxyz"} <= set(log.streams)
    assert "torque_ff" not in log.streams  # zero throughout


def test_asap_motions_of_the_release(shared_data):
    """Six retargeted clips of 23 joints at 30 fps, upright, with unit quaternions."""
    logs = list(read("asap", shared_data / "motions" / "asap_g1_23dof"))
    assert [len(log.streams["q"].time) for log in logs] == [119, 119, 218, 158, 119, 152]
    for log in logs:
        assert log.joints == JOINTS_23 and "target" not in log.streams
        w, x, y, z = log.streams["base_quat_wxyz"].values.T
        np.testing.assert_allclose(w**2 + x**2 + y**2 + z**2, 1, atol=1e-5)
        assert np.median(1 - 2 * (x**2 + y**2)) > 0.8
        assert 0.5 < log.streams["base_pos"].values[0, 2] < 1.0


def test_pace_chirp(tmp_path):
    """A .pt of tensors is read without torch; names must be given."""
    q = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
    content = {"time": np.arange(6) * 0.0025, "dof_pos": q, "des_dof_pos": 2 * q}
    writers.write_pt(tmp_path / "chirp.pt", content)
    (log,) = read("pace", tmp_path, ReadOptions(joint_order=("a", "b")))
    np.testing.assert_array_equal(log.streams["q"].values, q)
    np.testing.assert_array_equal(log.streams["target"].values, 2 * q)
    assert log.name == "chirp" and log.pairing == "acts_after"
    with pytest.raises(FormatError, match="2 unnamed joint columns; give the joint order"):
        list(read("pace", tmp_path))


def test_pace_strided_tensors_and_their_bounds(tmp_path):
    """A transposed view keeps its values; a storage that is too short is refused."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    writers.write_pt(tmp_path / "a.pt", {"x": array.T})
    np.testing.assert_array_equal(load_pt(tmp_path / "a.pt")["x"], array.T)
    with pytest.raises(FormatError, match="3 values, not 6"):
        _shrunk(tmp_path / "a.pt")


def _shrunk(path):
    import zipfile

    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["archive/data/0"] = parts["archive/data/0"][:12]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return load_pt(path)
