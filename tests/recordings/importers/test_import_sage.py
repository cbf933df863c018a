"""SAGE folders."""

from __future__ import annotations

import time

import numpy as np
import pytest

import log_writers as writers
from gapless.errors import FormatError
from gapless.recordings.importers import ReadOptions, read


def test_a_motion_folder_becomes_one_log(tmp_path):
    """Positions, targets and torques keep their values, times and joint names."""
    q, target = np.arange(8.0).reshape(4, 2), np.ones((4, 2))
    writers.write_sage(tmp_path / "wave", q, target, joints=["a", "b"], torque=-q)
    (log,) = read("sage", tmp_path)
    assert (log.name, log.joints, log.pairing, log.time_unit) == (
        "wave",
        ("a", "b"),
        "timestamps",
        None,
    )
    np.testing.assert_array_equal(log.streams["q"].values, q)
    np.testing.assert_array_equal(log.streams["target"].values, target)
    np.testing.assert_array_equal(log.streams["torque"].values, -q)
    np.testing.assert_array_equal(log.streams["q"].time, [0, 20_000, 40_000, 60_000])


def test_not_valid_cells_are_missing_channels_or_rows(tmp_path):
    """A column of not_valid is no channel; a single not_valid cell is a row of NaN."""
    folder = writers.write_sage(
        tmp_path / "w", np.ones((3, 2)), np.zeros((3, 2)), joints=["a", "b"]
    )
    path = folder / "state_motor.csv"
    path.write_text(path.read_text().replace('"[1.0, 1.0]"', "not_valid", 1))
    (log,) = read("sage", tmp_path)
    assert "torque" not in log.streams
    assert np.isnan(log.streams["q"].values).all(axis=1).tolist() == [True, False, False]


def test_the_motion_is_cut_out_of_the_log(tmp_path):
    """Samples before MOTION_START and after DISABLE are dropped and counted."""
    q = np.arange(10.0)[:, None]
    folder = writers.write_sage(tmp_path / "w", q, q, joints=["a"])
    rows = "Event,5,CONTROL_MODE_ENABLE,x\nEvent,40000,MOTION_START,x\n"
    rows += "Event,120000,DISABLE,not_valid\n"
    (folder / "event.csv").write_text("type,timestamp,event,data\n" + rows)
    (log,) = read("sage", tmp_path)
    np.testing.assert_array_equal(log.streams["q"].values[:, 0], [2, 3, 4, 5, 6])
    np.testing.assert_array_equal(log.streams["target"].values[:, 0], [2, 3, 4, 5, 6])
    assert "5 state samples outside were dropped" in log.notes[0]


def test_imu_columns_are_read_by_header(tmp_path):
    """state_base.csv gives orientation (w first), rates and accelerations on its own clock."""
    folder = writers.write_sage(tmp_path / "w", np.ones((3, 1)), np.ones((3, 1)), joints=["a"])
    row = '"[1, 0, 0, 0]","[0, 0, 0.5]","[0, 0, 9.8]",not_valid,not_valid\n'
    header = "type,timestamp,imu_quat,imu_gyro,imu_accel,imu_rpy,foot_force\n"
    (folder / "state_base.csv").write_text(header + "StateB,1," + row + "StateB,3," + row)
    (log,) = read("sage", tmp_path)
    assert {"imu_quat_wxyz", "imu_gyro", "imu_acc"} <= set(log.streams)
    assert "contact" not in log.streams
    assert log.streams["imu_acc"].time.tolist() == [1, 3]


def test_joint_names_are_required_and_counted(tmp_path):
    """Without joint_list.txt the joint order must be given, with the right length."""
    writers.write_sage(tmp_path / "x/y/z/w", np.ones((3, 2)), np.ones((3, 2)))
    source = tmp_path / "x/y/z/w"
    with pytest.raises(FormatError, match="give the joint order"):
        list(read("sage", source))
    with pytest.raises(FormatError, match="2 columns, but the joint order given names 1"):
        list(read("sage", source, ReadOptions(joint_order=("a",))))
    (log,) = read("sage", source, ReadOptions(joint_order=("a", "b")))
    assert log.joints == ("a", "b")


def test_usable_motions_are_read_and_the_others_listed(tmp_path):
    """A folder without positions is a problem of its own, not the end of the import."""
    writers.write_sage(tmp_path / "good", np.ones((3, 1)), np.ones((3, 1)), joints=["a"])
    bad = writers.write_sage(tmp_path / "bad", np.ones((3, 1)), np.ones((3, 1)), joints=["a"])
    (bad / "state_motor.csv").unlink()
    options = ReadOptions()
    assert [log.name for log in read("sage", tmp_path, options)] == ["good"]
    assert len(options.problems) == 1 and "no state_motor.csv" in options.problems[0]
    with pytest.raises(FormatError, match="needs measured positions"):
        list(read("sage", bad))


@pytest.mark.parametrize(
    ("torque", "kept"),
    [
        (np.abs, False),
        (lambda x: x, True),  # signed
        (lambda x: np.abs(x) + 0.5, True),  # a weight held one way throughout
        (lambda x: 0 * x, True),  # says nothing, but contradicts nothing
    ],
)
def test_torque_without_sign_is_left_out(tmp_path, torque, kept):
    """No negative torque on any of three joints that go to and fro: a magnitude, and no torque."""
    q = np.sin(np.linspace(0, 12, 200))[:, None] * [1.0, 0.5, 0.2]
    writers.write_sage(tmp_path / "w", q, q, joints=["a", "b", "c"], torque=torque(q))
    (log,) = read("sage", tmp_path)
    assert ("torque" in log.streams) == kept
    assert ("torque is a magnitude without sign: left out" in log.notes) != kept


def test_torque_of_one_joint_may_have_one_sign(tmp_path):
    """A single joint can push one way throughout; nothing is concluded from it."""
    q = np.sin(np.linspace(0, 12, 200))[:, None]
    writers.write_sage(tmp_path / "w", q, q, joints=["a"], torque=np.abs(q))
    (log,) = read("sage", tmp_path)
    assert "torque" in log.streams


def test_a_minute_of_29_joints_imports_in_a_blink(tmp_path):
    """60 s at 50 Hz with positions, velocities, torques and targets, best of five runs."""
    q = np.random.default_rng(0).normal(size=(3000, 29))
    writers.write_sage(tmp_path / "w", q, q, joints=[f"j{i}" for i in range(29)], torque=q)
    best = np.inf
    for _ in range(5):
        start = time.process_time()  # what others do on the machine does not count
        (log,) = read("sage", tmp_path)
        best = min(best, time.process_time() - start)
    np.testing.assert_array_equal(log.streams["q"].values, q)
    assert 60 / best > 200  # about 1000


def test_so101_recordings(shared_data):
    """Ten motions of six joints, 50 Hz in microseconds, command and state on one clock."""
    logs = list(read("sage", shared_data / "so101"))
    assert [log.name for log in logs][:2] == ["backlash_detection", "chirp_sweep"] and len(
        logs
    ) == 10
    joints = ("Rotation", "Pitch", "Elbow", "Wrist_Pitch", "Wrist_Roll", "Jaw")
    for log in logs:
        assert log.joints == joints
        assert 19_000 < np.median(np.diff(log.streams["q"].time)) < 21_000
        error = log.streams["q"].values - log.streams["target"].values
        assert 0.002 < np.sqrt(np.mean(error**2)) < 0.12
    multisine = next(log for log in logs if log.name == "multisine")
    assert multisine.streams["q"].values[0, 0] == 0.03451456772742693
    assert multisine.streams["q"].values.shape == (6000, 6)
    for log in logs:  # current magnitudes: never below zero in 964 s
        assert "torque" not in log.streams and "magnitude without sign" in log.notes[-1]


def test_h1_2_commands_alone_are_no_recording(shared_data):
    """The H1-2 AMASS runs lack their states, which the error says for the file missing."""
    with pytest.raises(FormatError, match=r"no state_motor\.csv.*needs measured positions"):
        list(read("sage", shared_data / "h1_2" / "amass_cmd_and_imu_only"))
