"""Checks of recordings and datasets."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from gapless.recordings.checks import check, check_dataset
from gapless.recordings.conditions import Conditions
from gapless.recordings.dataset import Dataset
from gapless.recordings.importing import import_dataset
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import prepare
from gapless.robots import Robot
from raw_logs import arm_log, edited


def made(robot, **kwargs):
    """One prepared recording of a synthetic log."""
    return prepare(arm_log(robot, **kwargs), robot, ImportOptions(), 50).recordings[0]


def test_a_clean_recording_has_only_its_delay_to_tell(so101):
    """No error and no warning."""
    findings = check(made(so101), so101)
    assert [(f.severity, f.code) for f in findings] == [("info", "delay")]
    assert "40 ± " in findings[0].message


def test_takes_of_a_policy_have_nothing_to_tell(so101):
    """Neither a delay nor a shift: their commands answer the joints. A wrong place is told."""
    driven = Conditions(policy="walker")
    takes = [replace(made(so101, lag=lag), conditions=driven) for lag in (0.04, 0.1)]
    still = replace(takes[0], q=takes[0].q[:1].repeat(400, 0), target=takes[0].q[:1].repeat(400, 0))
    assert check_dataset([*takes, still], so101).findings == []
    early = replace(takes[0], target=np.roll(takes[0].target, 5, axis=0))
    assert "error" in {f.severity for f in check(early, so101)}


def test_positions_beyond_limits_name_the_joint(so101):
    """A joint outside its limits is a warning with its amount."""
    recording = made(so101)
    q = recording.q.copy()
    q[:, 1] += so101.joints.upper[1] - q[:, 1].max() + 0.5
    found = [f for f in check(replace(recording, q=q), so101) if f.code == "beyond_limits"]
    assert [f.joint for f in found] == [so101.joints.names[1]]
    assert "0.50 rad" in found[0].message


@pytest.mark.parametrize(
    ("beyond", "seconds", "told"), [(0.15, 0.06, False), (0.15, 0.2, True), (0.3, 0.02, True)]
)
def test_a_knock_past_a_stop_is_no_wrong_zero(so101, beyond: float, seconds: float, told: bool):
    """A landing pushes a joint a little past its stop for a moment; what is more is told."""
    recording = made(so101)
    q = recording.q.copy()
    q[100 : 100 + round(seconds * 50), 1] = so101.joints.upper[1] + beyond
    found = [f for f in check(replace(recording, q=q), so101) if f.code == "beyond_limits"]
    assert [f.joint for f in found] == ([so101.joints.names[1]] if told else [])


def test_fewer_joints_than_the_robot_are_checked_by_name(arms, clips):
    """Limits are those of the joint of that name, also where the robot has others before it."""
    whole = Robot.load("g1")
    assert check_dataset(clips, whole).ok
    q = clips[0].q.copy()
    q[:, 3] = whole.joints.upper[whole.joints.index(arms.joints.names[3])] + 0.5
    found = [f for f in check(replace(clips[0], q=q), whole) if f.code == "beyond_limits"]
    assert [f.joint for f in found] == [arms.joints.names[3]]


def test_joints_that_the_robot_lacks_are_listed(so101, arms):
    """A recording of another robot is not compared by column; its joints are named."""
    found = [f for f in check(made(so101), arms) if f.code == "unknown_joints"]
    assert found[0].count == 6 and so101.joints.names[0] in found[0].message


def test_flags_of_the_import_stay_errors(so101):
    """What made the import flag a recording fails the check, even if it no longer shows."""
    flagged = replace(made(so101), provenance={"flags": ["quat_order"], "interpolated": 3})
    report = check_dataset([flagged], so101)
    assert not report.ok
    assert [f.code for f in report.findings if f.severity == "error"] == ["quat_order"]
    assert [f.count for f in report.findings if f.code == "interpolated"] == [3]


def test_real_failed_runs_fail_the_check(shared_data, tmp_path):
    """Go2: the runs that the import flags are errors of the dataset, each by its name."""
    robot = Robot.load("go2")
    imported = import_dataset("walk_these_ways", shared_data / "go2", robot, tmp_path / "d")
    report = check_dataset(Dataset.open(tmp_path / "d"), robot)
    failed = {f.recording for f in report.findings if f.code == "not_followed"}
    assert sorted(failed) == imported.flagged and len(failed) == 3 and not report.ok


def test_a_robot_that_does_not_follow_is_an_error(so101):
    """Half the joints far from their targets fail the recording."""
    recording = made(so101)
    target = recording.target + np.array([0.9, 0.9, 0.9, 0, 0, 0])
    report = check_dataset([replace(recording, target=target)], so101)
    assert not report.ok
    assert report.findings[0].code == "not_followed"


def test_a_soft_servo_that_hangs_below_its_target_follows(so101):
    """It makes part of the motion, about a place that gravity chose: a low gain, no failure."""
    recording = made(so101)
    target = recording.q / 0.6 + np.array([0.9, 0.9, 0.9, 0, 0, 0])
    report = check_dataset([replace(recording, target=target)], so101)
    assert "not_followed" not in [f.code for f in report.findings]


def test_report_counts_and_serialises(so101):
    """Masked samples by reason, missing channels with what they are needed for, plain JSON."""
    log = arm_log(so101)
    q = log.streams["q"].values.copy()
    q[100:110, 2] = np.nan
    holed = prepare(edited(log, q=q), so101, ImportOptions(), 50).recordings[0]
    bare = replace(made(so101, seed=3), target=None, channels={})
    report = check_dataset([holed, bare], so101)
    data = json.loads(json.dumps(report.to_dict()))
    assert report.ok and data["recordings"] == 2
    assert data["masked"] == {"not_a_number": 10}
    assert data["missing"]["target"]["recordings"] == 1
    assert "replay" in data["missing"]["target"]["needed_for"]
    assert data["missing"]["torque"]["recordings"] == 2


def test_a_shifted_repetition_is_found(so101):
    """Among five repetitions the one with slipped commands is named."""
    clips = [made(so101, seed=0, noise=1e-4 * (k + 1)) for k in range(5)]
    target = np.roll(clips[3].target, -1, axis=0)
    clips[3] = replace(clips[3], target=target)
    report = check_dataset(clips, so101)
    (found,) = [f for f in report.findings if f.code == "shifted"]
    assert found.recording == clips[3].name
    assert "recording 3 (repetition 4 of 5)" in found.message


def test_two_clocks_in_a_dataset_are_an_error(so101):
    """A dataset made elsewhere may hold commands that cannot be placed."""
    recording = made(so101)
    late = replace(recording, target=np.roll(recording.target, 5, axis=0))
    findings = check(late, so101)
    assert "not_placed" in [f.code for f in findings if f.severity == "error"]


def test_a_check_repairs_nothing(so101):
    """A slip of one step in a finished dataset is an error, not a silent move."""
    recording = made(so101, lag=0.0)
    slipped = replace(recording, target=np.roll(recording.target, 1, axis=0))
    found = [f for f in check(slipped, so101) if f.severity == "error"]
    assert [f.code for f in found] == ["not_placed"]
    assert "one step" in found[0].message


@pytest.mark.parametrize(("share", "told"), [(0.0, True), (0.6, False)])
def test_motors_that_gave_nothing_are_an_error(so101, share: float, told: bool):
    """A robot whose watchdog damped it while its pilot flew on stays near, and teaches nothing."""
    recording = made(so101)
    gains = {j: (40.0, 1.0) for j in recording.joints}
    target = recording.q + 0.1
    given = {"torque": share * 40.0 * (target - recording.q)}
    told_gains = replace(recording.conditions, gains=gains)
    limp = replace(recording, target=target, channels=given, conditions=told_gains)
    found = [f for f in check(limp, so101) if f.code == "not_followed"]
    assert bool(found) == told and all("0 % of the torque" in f.message for f in found)
