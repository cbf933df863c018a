"""From a raw log to recordings."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import read
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.prepare import prepare
from gapless.recordings.rawlog import RawLog, Stream
from gapless.robots import Robot
from gapless.robots.joints import Alias
from gapless.robots.payload import Payload
from raw_logs import arm_log, edited, rows

NEUTRAL = ImportOptions()


def test_a_clean_log_comes_through_unchanged(so101):
    """On its own clock nothing is moved, masked or differentiated."""
    log = arm_log(so101)
    done = prepare(log, so101, NEUTRAL, 50)
    (recording,) = done.recordings
    np.testing.assert_allclose(recording.q, log.streams["q"].values)
    np.testing.assert_allclose(recording.target, log.streams["target"].values)
    np.testing.assert_allclose(recording.channels["dq"], log.streams["dq"].values)
    assert recording.mask.all()
    assert done.findings == []
    facts = recording.provenance
    assert (facts["source"], facts["moved_steps"], facts["dq"]) == ("wave", 0, "logged")
    assert facts["masked"] == {} and facts["native_rate"] == 50.0


def test_columns_are_placed_by_name(so101):
    """Shuffled columns land on their joints; gains follow their joint."""
    log = arm_log(so101)
    order = [3, 0, 5, 1, 4, 2]
    names = tuple(np.array(log.joints)[order])
    streams = {k: Stream(s.time, s.values[:, order]) for k, s in log.streams.items()}
    mixed = replace(
        log, joints=names, streams=streams, conditions=Conditions(gains={names[0]: (7.0, 0.5)})
    )
    recording = prepare(mixed, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(recording.q, log.streams["q"].values)
    assert recording.conditions.gains == {so101.joints.names[3]: (7.0, 0.5)}


def test_sign_and_zero_of_an_alias_are_applied(so101):
    """q = sign · q_log + offset; velocities and torques take the sign only."""
    first = so101.joints.names[0]
    robot = replace(so101, aliases={**so101.aliases, "M1": Alias(first, -1.0, 0.25)})
    log = arm_log(so101)
    mirrored = replace(log, joints=("M1", *log.joints[1:]))
    recording = prepare(mirrored, robot, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(recording.q[:, 0], 0.25 - log.streams["q"].values[:, 0])
    np.testing.assert_allclose(recording.channels["dq"][:, 0], -log.streams["dq"].values[:, 0])


def test_what_the_user_declares_wins(so101):
    """Unit, mount, motion and payload of the options replace the log's own."""
    link = so101.links[-1]
    options = ImportOptions(unit="7", mount="fixed", motion="dance", payload=f"{link}=0.2")
    recording = prepare(arm_log(so101), so101, options, 50).recordings[0]
    assert recording.name == "dance"
    assert recording.conditions.unit == "7"
    assert recording.conditions.payloads == {link: Payload(0.2)}
    unloaded = prepare(arm_log(so101), so101, ImportOptions(payload="none"), 50).recordings[0]
    assert unloaded.conditions.payloads == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gains": {"shoulder_pam": (5.0, 0.1)}}, "shoulder_pam.*Did you mean 'shoulder_pan"),
        ({"held": {"shoulder_pam": 0.1}}, "shoulder_pam.*Did you mean 'shoulder_pan"),
        ({"payloads": {"grippr": Payload(1.0)}}, "grippr.*Did you mean 'gripper"),
        ({"payloads": {"gripper": Payload(-1.0)}}, "gripper.*-1.0 kg"),
        ({"mount": "fixd"}, "fixd.*Did you mean 'fixed'"),
        ({"held": {"gripper": 0.1}}, "both logged and declared as held: gripper"),
    ],
)
def test_conditions_of_the_log_name_what_the_robot_has(so101, given, words):
    """Gains, loads, held joints or a mount that the robot lacks are refused, not dropped."""
    with pytest.raises(DataError, match=words):
        prepare(arm_log(so101, conditions=Conditions(**given)), so101, NEUTRAL, 50)


@pytest.mark.parametrize("options", [{"mount": "fixd"}, {"payload": "grippr=1"}])
def test_options_name_what_the_robot_has(so101, options):
    """A mount or link of the user's that the robot lacks is refused with the nearest name."""
    with pytest.raises(DataError, match="Did you mean"):
        prepare(arm_log(so101), so101, ImportOptions(**options), 50)


def test_a_log_may_say_where_its_missing_joints_were(so101):
    """Held positions of the log count like --hold, in the sign and zero of their alias."""
    last = so101.joints.names[5]
    robot = replace(so101, aliases={**so101.aliases, "M6": Alias(last, -1.0, 0.25)})
    log = arm_log(so101)
    streams = {k: Stream(s.time, s.values[:, :5]) for k, s in log.streams.items()}
    partial = replace(
        log, joints=log.joints[:5], streams=streams, conditions=Conditions(held={"M6": 0.1})
    )
    recording = prepare(partial, robot, NEUTRAL, 50).recordings[0]
    assert recording.conditions.held == {last: 0.15}
    assert np.all(recording.q[:, 5] == 0.15)


def test_all_problems_are_told_at_once(so101):
    """A log with a bad clock and missing joints is refused once, with both reasons."""
    log = arm_log(so101)
    bad = replace(log, time_unit="ns")
    bad = edited(bad, q=np.where(np.arange(6) == 2, np.nan, log.streams["q"].values))
    with pytest.raises(DataError) as error:
        prepare(bad, so101, NEUTRAL, 50)
    assert "time unit 'ns'" in str(error.value)
    assert so101.joints.names[2] in str(error.value)


def test_resampling_changes_the_rate_not_the_motion(so101):
    """100 Hz to 50 Hz keeps positions; 50 Hz to 100 Hz keeps commands stepwise."""
    fine = arm_log(so101, rate=100.0, noise=0.0)
    coarse = prepare(fine, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(coarse.q, fine.streams["q"].values[::2], atol=1e-9)
    np.testing.assert_allclose(coarse.target, fine.streams["target"].values[::2])
    up = prepare(arm_log(so101), so101, NEUTRAL, 100).recordings[0]
    assert np.array_equal(up.target[1::2], up.target[:-1:2])


def test_velocities_in_degrees_are_replaced(so101):
    """Velocities that contradict the positions are differentiated, and that is said."""
    log = arm_log(so101)
    done = prepare(edited(log, dq=log.streams["dq"].values * 57.3), so101, NEUTRAL, 50)
    assert done.recordings[0].provenance["dq"] == "differentiated"
    assert "deg/s" in next(f.message for f in done.findings if f.code == "velocity_mismatch")
    error = done.recordings[0].channels["dq"] - log.streams["dq"].values
    assert np.abs(error).max() < 0.1


def test_a_log_without_commands_is_kept(so101):
    """A recording may have no target."""
    done = prepare(edited(arm_log(so101), target=None), so101, NEUTRAL, 50)
    assert done.recordings[0].target is None


def test_commands_on_their_own_clock(so101):
    """Commands with their own times are placed by those; frames before the first are trimmed."""
    log = arm_log(so101, pairing="timestamps")
    late = Stream(log.streams["target"].time[10:], log.streams["target"].values[10:])
    recording = prepare(edited(log, target=late), so101, ImportOptions(), 50).recordings[0]
    assert len(recording) == 390
    np.testing.assert_allclose(recording.q, log.streams["q"].values[10:])
    np.testing.assert_allclose(recording.target, log.streams["target"].values[10:])


def test_a_long_humanoid_log_takes_seconds():
    """20 minutes of 50 Hz, 29 joints with torque and IMU are prepared far above real time."""
    robot = Robot.load("g1")
    log = arm_log(robot, seconds=1200.0)
    time = log.streams["q"].time
    extra = {
        "torque": Stream(time, log.streams["q"].values * 3.0),
        "imu_gyro": Stream(time, log.streams["q"].values[:, :3]),
    }
    log = replace(log, streams={**log.streams, **extra})
    started = process_time()  # what others do on the machine does not count
    done = prepare(log, robot, NEUTRAL, 50)
    assert process_time() - started < 60  # twenty times real time; it takes about 1 s
    assert done.recordings[0].mask.all()


def test_real_failed_runs_are_flagged(shared_data):
    """Go2: the three runs that did not follow their commands are errors, the two others not."""
    robot = Robot.load("go2")
    flagged = {}
    for log in read("walk_these_ways", shared_data / "go2"):
        done = prepare(log, robot, NEUTRAL, 50)
        flagged[log.name] = done.recordings[0].flags
    good = {name for name, flags in flagged.items() if not flags}
    assert {name[:3] for name in good} == {"go1", "go2"} and len(flagged) == 5
    assert all("2024-01-28_09_35_56" in n or n.startswith("go1") for n in good)


def test_real_arm_logs_are_clean(shared_data, so101):
    """SO-101: nothing is flagged, moved or masked in ten real motions."""
    for log in read("sage", shared_data / "so101"):
        clip = prepare(log, so101, NEUTRAL, 50).recordings[0]
        facts = clip.provenance
        assert (clip.flags, facts["moved_steps"], facts["masked"]) == ((), 0, {}), log.name
        assert facts["dq"] == "logged"


def test_short_pieces_are_dropped_and_counted(so101):
    """A restart that leaves a few frames drops them with a word."""
    log = arm_log(so101)
    index = np.r_[np.arange(300), np.arange(5)]
    done = prepare(rows(log, index), so101, NEUTRAL, 50)
    assert len(done.recordings) == 1
    assert {"split", "short"} <= {f.code for f in done.findings}


def test_notes_of_the_importer_are_kept(so101):
    """What the importer noted reaches the provenance."""
    log: RawLog = arm_log(so101, notes=("two rows were unreadable",))
    done = prepare(log, so101, NEUTRAL, 50)
    assert done.recordings[0].provenance["notes"] == ["two rows were unreadable"]
