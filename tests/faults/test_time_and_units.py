"""Fault cases 8 to 19: clocks, units, names, gaps and sensors of a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.recordings.checks import check_dataset
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import prepare
from gapless.recordings.rawlog import Stream
from raw_logs import arm_log, commands, edited, on_clock, rows

NEUTRAL = ImportOptions()


def codes(done):
    """Codes of all findings."""
    return {f.code for f in done.findings}


@pytest.mark.parametrize("count", [0, 1, 5])
def test_case_08_empty_and_single_sample(so101, count):
    """Too few samples are refused with their number."""
    log = rows(arm_log(so101), np.arange(count))
    with pytest.raises(DataError, match=rf"{count} samples"):
        prepare(log, so101, NEUTRAL, 50)


def test_case_09_not_a_number_is_masked(so101):
    """NaN and Inf are masked sample by sample, filled with a finite value, and counted."""
    log = arm_log(so101)
    q, target = (log.streams[k].values.copy() for k in ("q", "target"))
    q[100:120, 0], q[50, 1], target[200:210, 2] = np.nan, np.inf, np.nan
    recording = prepare(edited(log, q=q, target=target), so101, NEUTRAL, 50).recordings[0]
    assert recording.provenance["masked"] == {"not_a_number": 21, "no_command": 10}
    assert (~recording.mask).sum(axis=0).tolist() == [20, 1, 10, 0, 0, 0]
    assert np.isfinite(recording.q).all() and np.isfinite(recording.target).all()
    assert np.isfinite(recording.channels["dq"]).all()


def test_case_09_too_many_are_refused(so101):
    """Above the declared share the log is refused with the share."""
    log = arm_log(so101)
    q = log.streams["q"].values.copy()
    q[::2] = np.nan
    with pytest.raises(DataError, match=r"unusable .*--max-masked"):
        prepare(edited(log, q=q), so101, NEUTRAL, 50)
    assert prepare(edited(log, q=q), so101, ImportOptions(max_masked=0.9), 50).recordings


def test_case_10_duplicates_and_disorder(so101):
    """Duplicates are dropped, late rows sorted back, both counted; the motion is unchanged."""
    log = arm_log(so101)
    index = np.arange(400)
    index[[100, 101]] = [101, 100]
    messy = rows(log, np.insert(index, 50, 49))
    done = prepare(messy, so101, NEUTRAL, 50)
    np.testing.assert_allclose(done.recordings[0].q, log.streams["q"].values)
    assert {"duplicate_times", "sorted_times"} <= codes(done)


def test_case_10_reset_clock_splits(so101):
    """A clock that restarts (tick wrap) gives two episodes of one motion."""
    log = arm_log(so101)
    time = log.streams["q"].time.copy()
    time[200:] -= time[200]
    done = prepare(on_clock(log, time), so101, NEUTRAL, 50)
    assert [len(r) for r in done.recordings] == [200, 200]
    assert "split" in codes(done)
    assert {r.name for r in done.recordings} == {"wave"}


def test_case_11_gaps_are_not_interpolated(so101):
    """Lost packets are masked; a long interruption starts a new episode."""
    log = arm_log(so101)
    lossy = rows(log, np.r_[np.arange(100), np.arange(120, 400)])
    recording = prepare(lossy, so101, NEUTRAL, 50).recordings[0]
    assert len(recording) == 400
    assert recording.provenance["masked"] == {"gap": 20 * 6}
    assert not recording.mask[100:120].any() and recording.mask[120:].all()
    halves = rows(log, np.r_[np.arange(100), np.arange(200, 400)])
    assert len(prepare(halves, so101, NEUTRAL, 50).recordings) == 2


def test_case_11_a_gap_is_measured_in_samples(so101):
    """Half a tenth of a second is many samples at 500 Hz: masked, not interpolated."""
    log = arm_log(so101, rate=500.0)
    lossy = rows(log, np.delete(np.arange(4000), np.arange(1000, 1049)))
    recording = prepare(lossy, so101, NEUTRAL, 500).recordings[0]
    assert recording.provenance["masked"] == {"gap": 49 * 6}
    assert not recording.mask[1000:1049].any()
    wide = prepare(lossy, so101, ImportOptions(max_gap=0.2), 500).recordings[0]
    assert wide.mask.all() and wide.provenance["interpolated"] == 49


@pytest.mark.parametrize(("lost", "kept"), [(1, True), (2, True), (3, False)])
def test_case_11_bridged_samples_are_counted(so101, lost, kept):
    """Up to three intervals are bridged, stay usable, and are counted; more are masked."""
    log = arm_log(so101)
    lossy = rows(log, np.delete(np.arange(400), np.arange(100, 100 + lost)))
    done = prepare(lossy, so101, NEUTRAL, 50)
    facts = done.recordings[0].provenance
    assert facts["interpolated"] == (lost if kept else 0)
    assert facts["masked"] == ({} if kept else {"gap": lost * 6})
    told = [(f.severity, f.count) for f in done.findings if f.code == "interpolated"]
    assert told == ([("info", lost)] if kept else [])


def test_case_11_held_commands_are_counted(so101):
    """Commands on their own clock that are missing are held for a while, and counted."""
    log = arm_log(so101, pairing="timestamps")
    keep = np.delete(np.arange(400), [100, 101])
    target = Stream(log.streams["target"].time[keep], log.streams["target"].values[keep])
    facts = prepare(edited(log, target=target), so101, NEUTRAL, 50).recordings[0].provenance
    assert facts["interpolated"] == 2


def test_case_12_time_units(so101):
    """Microseconds are recognised; a mix of units and a wrong declaration are refused."""
    log = replace(arm_log(so101), time_unit=None)
    micro = on_clock(log, log.streams["q"].time * 1e6)
    assert len(prepare(micro, so101, NEUTRAL, 50).recordings[0]) == 400
    mixed = edited(micro, target=log.streams["target"])
    with pytest.raises(DataError, match="one clock"):
        prepare(mixed, so101, NEUTRAL, 50)
    with pytest.raises(DataError, match="plausible"):
        prepare(micro, so101, ImportOptions(time_unit="s"), 50)


def test_case_12_a_plausible_but_wrong_unit(so101):
    """Seconds that look like milliseconds are caught by the joints' speed limits."""
    log = replace(arm_log(so101, seconds=40.0, rate=5.0), time_unit=None)
    slow = on_clock(log, log.streams["q"].time * 5)
    with pytest.raises(DataError, match="faster than their limits"):
        prepare(slow, so101, NEUTRAL, 1000)


def test_case_13_degrees(so101):
    """Degrees are refused with the option that helps, and converted when declared."""
    log = arm_log(so101)
    degrees = edited(log, **{k: np.rad2deg(s.values) for k, s in log.streams.items()})
    with pytest.raises(DataError, match="--angle-unit deg"):
        prepare(degrees, so101, NEUTRAL, 50)
    recording = prepare(degrees, so101, ImportOptions(angle_unit="deg"), 50).recordings[0]
    np.testing.assert_allclose(recording.q, log.streams["q"].values)
    wrong = prepare(log, so101, ImportOptions(angle_unit="deg"), 50)
    assert "angles_tiny" in codes(wrong)


def test_case_14_quaternions(so101):
    """Order is checked against gravity, length against one, signs are made continuous."""
    log = arm_log(so101)
    time = log.streams["q"].time
    half = 0.3 * np.sin(time)
    quats = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)
    up = np.stack([0 * half, np.sin(2 * half), np.cos(2 * half)], axis=1)
    flips = np.where(np.arange(len(time)) % 7 == 0, -1.0, 1.0)[:, None]
    right = edited(log, imu_quat_wxyz=quats * flips, imu_acc=9.81 * up)
    recording = prepare(right, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(recording.channels["imu_quat_wxyz"], quats, atol=1e-9)
    swapped = edited(right, imu_quat_wxyz=np.roll(quats, -1, axis=1))
    with pytest.raises(DataError, match="Read as xyzw"):
        prepare(swapped, so101, NEUTRAL, 50)
    with pytest.raises(DataError, match="unit length"):
        prepare(edited(right, imu_quat_wxyz=quats * 1.5), so101, NEUTRAL, 50)
    base = edited(log, base_quat_wxyz=np.roll(quats, -1, axis=1))
    assert "quat_order" in codes(prepare(base, so101, NEUTRAL, 50))


def test_case_15_names_decide(so101):
    """Columns in another order are mapped by name; an unknown name is refused with a hint."""
    log = arm_log(so101)
    order = np.arange(6)[::-1]
    streams = {k: Stream(s.time, s.values[:, order]) for k, s in log.streams.items()}
    backwards = replace(log, joints=log.joints[::-1], streams=streams)
    recording = prepare(backwards, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(recording.q, log.streams["q"].values)
    misspelt = replace(log, joints=("shoulder_pam", *log.joints[1:]))
    with pytest.raises((DataError, NameMismatchError), match=r"shoulder_pam.*Did you mean"):
        prepare(misspelt, so101, NEUTRAL, 50)


def test_case_16_missing_joints(so101):
    """Joints the log lacks are refused unless declared; declared ones are held and never scored."""
    log = arm_log(so101)
    streams = {k: Stream(s.time, s.values[:, :4]) for k, s in log.streams.items()}
    partial = replace(log, joints=log.joints[:4], streams=streams)
    with pytest.raises(DataError, match=r"2 of the robot's 6 joints.*--hold default"):
        prepare(partial, so101, NEUTRAL, 50)
    lacking = so101.joints.names[4:]
    hold = f"{lacking[0]}=0.1,{lacking[1]}=0.2"
    recording = prepare(partial, so101, ImportOptions(hold=hold), 50).recordings[0]
    assert recording.conditions.held == {lacking[0]: 0.1, lacking[1]: 0.2}
    assert np.all(recording.q[:, 4:] == [0.1, 0.2]) and not recording.mask[:, 4:].any()
    assert np.all(recording.target[:, 4:] == [0.1, 0.2])
    assert np.all(recording.channels["dq"][:, 4:] == 0)
    usable = recording.mask.any(axis=0)
    assert [j for j, ok in zip(recording.joints, usable, strict=True) if ok] == list(
        so101.joints.names[:4]
    )
    default = prepare(partial, so101, ImportOptions(hold="default"), 50).recordings[0]
    np.testing.assert_allclose(default.q[0, 4:], so101.joints.default[4:])
    with pytest.raises((DataError, NameMismatchError), match="elbow_fle"):
        prepare(partial, so101, ImportOptions(hold="elbow_fle=1"), 50)


def test_case_17_missing_channels_are_listed(so101):
    """A log without torque and commands is imported; what cannot be computed is said."""
    bare = edited(arm_log(so101), target=None, dq=None)
    recording = prepare(bare, so101, NEUTRAL, 50).recordings[0]
    report = check_dataset([recording], so101).to_dict()
    assert {"target", "torque", "gains"} <= set(report["missing"])
    assert "identification" in report["missing"]["torque"]["needed_for"]


def test_case_18_stuck_encoder_saturation_and_clipping(so101):
    """A stuck encoder is masked; flat torque is dropped, clipped IMU listed; all are counted."""
    log = arm_log(so101)
    q = log.streams["q"].values.copy()
    q[100:200, 1] = q[100, 1]
    torque = np.clip(np.sin(log.streams["q"].time)[:, None] * np.ones(6), -2, 0.7)
    gyro = np.clip(3 * np.sin(log.streams["q"].time)[:, None] * np.ones(3), -2.5, 2.5)
    done = prepare(edited(log, q=q, torque=torque, imu_gyro=gyro, dq=None), so101, NEUTRAL, 50)
    recording = done.recordings[0]
    assert recording.provenance["masked"] == {"stuck": 100}
    assert not recording.mask[100:200, 1].any() and recording.mask[:, 2].all()
    told = {f.code: f for f in done.findings}
    assert set(told) >= {"stuck", "imu_clipped", "torque_saturated"}
    assert "imu_gyro axis 2" in told["imu_clipped"].message
    assert told["imu_clipped"].count == (np.abs(gyro[:, 0]) == 2.5).sum()
    assert f"torque of {so101.joints.names[5]}" in told["torque_saturated"].message
    flat = torque == 0.7
    assert told["torque_saturated"].count == flat[:, 0].sum()
    assert np.array_equal(np.isnan(recording.channels["torque"]), flat)
    assert recording.provenance["torque_saturated"] == flat.sum()
    joints = {f.joint for f in done.findings if f.code == "stuck"}
    assert joints == {so101.joints.names[1]}
    held = ImportOptions(keep_still=True)  # friction did it, says the user
    kept = prepare(edited(log, q=q, dq=None), so101, held, 50)
    assert kept.recordings[0].mask.all() and "stuck" in {f.code for f in kept.findings}


@pytest.mark.parametrize(("left", "whole"), [(30, False), (80, True)])
def test_what_follows_a_stuck_encoder_must_be_long_enough_to_believe(so101, left, whole):
    """A drive that went off, and half a second in which its encoder reads again: not a motion."""
    log = arm_log(so101)
    q = log.streams["q"].values.copy()
    stop = len(q) - left
    q[stop - 100 : stop, 1] = q[stop - 100, 1]
    recording = prepare(edited(log, q=q, dq=None), so101, NEUTRAL, 50).recordings[0]
    assert not recording.mask[stop - 100 : stop - 1, 1].any()
    assert recording.mask[stop + 1 :, 1].all() == whole
    assert recording.mask[: stop - 101].all() and recording.mask[:, 2].all()


def test_case_19_two_clocks(so101):
    """An offset or a strong drift between command and state clocks is refused with its size."""
    log = arm_log(so101, seconds=60.0, pairing="timestamps")
    time, target = log.streams["target"].time, log.streams["target"].values
    with pytest.raises(DataError, match=r"0\.4\d s after its command|two clocks"):
        prepare(edited(log, target=Stream(time - 0.4, target)), so101, NEUTRAL, 50)
    with pytest.raises(DataError, match="two clocks"):
        prepare(edited(log, target=Stream(time - 5.0, target)), so101, NEUTRAL, 50)
    drifting = commands(so101, time * (1 + 6e-3), 0)
    with pytest.raises(DataError, match=r"drift|two clocks"):
        prepare(edited(log, target=Stream(time, drifting)), so101, NEUTRAL, 50)
    slow = commands(so101, time * (1 + 2e-3), 0)
    assert "delay_changes" in codes(
        prepare(edited(log, target=Stream(time, slow)), so101, NEUTRAL, 50)
    )
