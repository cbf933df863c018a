"""Placing commands in time, on synthetic and on real logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import read
from gapless.recordings.options import ImportOptions
from gapless.recordings.preparation.delay import estimate
from gapless.recordings.preparation.delay_comparison import compare_delays
from gapless.recordings.preparation.placement import judge, move_commands
from gapless.recordings.preparation.prepare import prepare
from gapless.recordings.rawlog import Stream
from gapless.recordings.recording import Recording
from raw_logs import arm_log, edited, on_clock, rows

NEUTRAL = ImportOptions()


def shifted(recording: Recording, steps: int) -> Recording:
    """The recording with its commands `steps` earlier (+1: each row holds its successor's)."""
    index = np.clip(np.arange(len(recording)) + steps, 0, len(recording) - 1)
    assert recording.target is not None
    return replace(recording, target=recording.target[index])


def plain(name: str, q: np.ndarray, target: np.ndarray, rate: float, source: str) -> Recording:
    """A recording whose masked columns are those that are NaN."""
    mask = np.isfinite(q)
    joints = tuple(f"j{i}" for i in range(q.shape[1]))
    filled = np.nan_to_num(q), np.nan_to_num(target)
    return Recording(name, joints, rate, *filled, mask, provenance={"source": source})


@pytest.mark.parametrize("lag", [0.0, 0.013, 0.04, 0.1])
def test_delay_is_recovered(so101, lag):
    """A known delay is measured to a tenth of a step, with an honest error."""
    done = prepare(arm_log(so101, lag=lag), so101, NEUTRAL, 50)
    delay = estimate(done.recordings)
    assert abs(delay.lag - lag * 50) < 0.1
    assert delay.std < 0.1
    assert abs(done.recordings[0].provenance["delay_s"] - lag) < 0.002


def test_produced_commands_move_one_row(so101):
    """Where row k's command produced state k, target'[k] is target[k + 1]."""
    log = arm_log(so101)
    late = edited(log, target=np.roll(log.streams["target"].values, 1, axis=0))
    done = prepare(replace(late, pairing="produced"), so101, NEUTRAL, 50).recordings[0]
    plainly = prepare(log, so101, NEUTRAL, 50).recordings[0]
    assert done.provenance["moved_steps"] == 1
    np.testing.assert_allclose(done.target, plainly.target[: len(done)])


def test_late_rows_are_sorted_before_commands_move(so101):
    """One late packet and one doubled row do not give their neighbours' commands to anyone."""
    log = arm_log(so101, pairing="produced")
    index = np.arange(400)
    index[[100, 101]] = [101, 100]
    messy = prepare(rows(log, np.insert(index, 50, 49)), so101, NEUTRAL, 50).recordings[0]
    clean = prepare(log, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_array_equal(messy.target, clean.target)
    assert messy.mask.all()


def test_commands_do_not_move_across_a_gap_or_a_restart(so101):
    """The command of the last row before lost rows was in one of them: it is masked, counted."""
    log = arm_log(so101, pairing="produced")
    lossy = rows(log, np.r_[np.arange(100), np.arange(120, 400)])
    recording = prepare(lossy, so101, NEUTRAL, 50).recordings[0]
    assert not recording.mask[99].any() and recording.mask[98].all() and recording.mask[120].all()
    assert recording.provenance["masked"] == {"gap": 20 * 6, "no_command": 6}
    time = log.streams["q"].time.copy()
    time[200:] -= time[200]
    halves = prepare(on_clock(log, time), so101, NEUTRAL, 50).recordings
    assert [len(r) for r in halves] == [199, 199]


def test_feed_forward_moves_with_its_target(so101):
    """Commanded velocity and torque keep their place beside the target."""
    log = arm_log(so101, pairing="produced")
    target = log.streams["target"].values
    fed = edited(log, target_dq=2 * target, torque_ff=3 * target)
    done = prepare(fed, so101, NEUTRAL, 50).recordings[0]
    np.testing.assert_allclose(done.channels["target_dq"], 2 * done.target)
    np.testing.assert_allclose(done.channels["torque_ff"], 3 * done.target)


def test_a_proven_slip_is_fixed_and_told(so101):
    """A response one step before its command proves the slip; the commands move, with a word."""
    log = arm_log(so101, lag=-0.02)
    done = prepare(log, so101, NEUTRAL, 50)
    assert done.recordings[0].provenance["moved_steps"] == 1
    assert [f.code for f in done.findings if f.severity == "warning"] == ["moved"]


def test_more_than_one_step_early_is_refused(so101):
    """Two steps early cannot be one slip."""
    with pytest.raises(DataError, match="before their commands"):
        prepare(arm_log(so101, lag=-0.05), so101, NEUTRAL, 50)


def test_unknown_pairing_needs_proof_or_a_declaration(so101):
    """Neither reading is guessed; a declaration or a proof is accepted."""
    log = arm_log(so101, pairing="unknown")
    with pytest.raises(DataError, match="--command-acts after"):
        prepare(log, so101, NEUTRAL, 50)
    after = prepare(log, so101, ImportOptions(command_acts="after"), 50)
    produced = prepare(log, so101, ImportOptions(command_acts="produced"), 50)
    assert after.recordings[0].provenance["moved_steps"] == 0
    assert produced.recordings[0].provenance["moved_steps"] == 1
    proven = prepare(arm_log(so101, lag=-0.02, pairing="unknown"), so101, NEUTRAL, 50)
    assert proven.recordings[0].provenance["moved_steps"] == 1


def test_a_still_robot_is_not_verified(so101):
    """Without motion the delay stays unknown, and that is said."""
    log = arm_log(so101)
    still = edited(
        log, **{k: np.repeat(log.streams[k].values[:1], 400, axis=0) for k in ("q", "target")}
    )
    done = prepare(edited(still, dq=None), so101, NEUTRAL, 50)
    assert done.recordings[0].provenance["delay_s"] is None
    assert "delay_not_verified" in [f.code for f in done.findings]


@pytest.mark.parametrize("motion", ["prbs_excitation", "multisine", "backlash_detection"])
def test_a_step_is_detected_in_real_arm_clips(shared_data, so101, motion):
    """SO-101: one ten-second clip shifted by a step, either way, is the one that is flagged."""
    log = next(iter(read("sage", shared_data / "so101" / motion)))
    whole = prepare(log, so101, NEUTRAL, 50).recordings[0]
    clips = [whole.clip(k, k + 500) for k in range(0, len(whole) - 499, 500)]
    assert compare_delays(clips) == []
    for bad, steps in ((2, 1), (7, -1)):
        moved = [shifted(c, steps) if i == bad else c for i, c in enumerate(clips)]
        change = estimate([moved[bad]]).joint_lag - estimate([clips[bad]]).joint_lag
        told = estimate([clips[bad]]).confident
        assert np.all(np.abs(change[told] - steps) < 0.25)
        (found,) = compare_delays(moved)
        assert found.recording == motion and f"recording {bad} " in found.message


def test_recordings_with_other_joints_are_not_compared():
    """Columns are compared by joint, so repetitions with other joints are no peers."""
    rng = np.random.default_rng(0)
    target = np.cumsum(rng.normal(scale=0.02, size=(300, 3)), axis=0)
    q = np.roll(target, 2, axis=0)
    clips = [plain("a", q[:, :n], target[:, :n], 50.0, "one") for n in (3, 3, 2)]
    assert compare_delays(clips) == []


@pytest.mark.parametrize("stated", [True, False])
def test_another_gain_is_no_slip(stated: bool) -> None:
    """A weaker drive answers later; only a log that says nothing of its gain is suspected."""
    rng = np.random.default_rng(0)
    clips = []
    for name, gain, lag in (("a", 8.0, 2), ("b", 8.0, 2), ("c", 8.0, 2), ("d", 4.0, 4)):
        target = np.cumsum(rng.normal(scale=0.02, size=(400, 3)), axis=0)
        clip = plain(name, np.roll(target, lag, axis=0), target, 50.0, name)
        gains = {j: (gain, 0.2) for j in clip.joints} if stated else {}
        clips.append(replace(clip, conditions=Conditions(gains=gains)))
    assert [f.recording for f in compare_delays(clips)] == ([] if stated else ["d"])


@pytest.mark.parametrize("policy", ["walker", None])
@pytest.mark.parametrize("names", ["aa", "abcd"])
def test_takes_of_a_policy_repeat_nothing(names: str, policy: str | None) -> None:
    """Feedback decides when its commands come: its takes and files may differ in their lag."""
    rng = np.random.default_rng(0)
    clips = []
    for k, name in enumerate(names):
        target = np.cumsum(rng.normal(scale=0.02, size=(400, 3)), axis=0)
        late = 4 if k == len(names) - 1 else 2
        clip = plain(name, np.roll(target, late, axis=0), target, 50.0, name)
        clips.append(replace(clip, conditions=Conditions(policy=policy)))
    assert len(compare_delays(clips)) == (0 if policy else 1)


def real_chirps(folder, steps: int, bad: int) -> list[Recording]:
    """K-Bot leg: half-second pieces of five chirps, dealt to three sessions."""
    pieces = []
    for j, log in enumerate(read("kscale", folder)):
        q, target = (np.deg2rad(log.streams[k].values[:, 0]) for k in ("q", "target"))
        moved = np.roll(target, -steps)
        for i, a in enumerate(range(0, len(q) - 49, 48)):
            columns = np.full((2, 48, 5), np.nan)
            columns[0, :, j] = q[a : a + 48]
            columns[1, :, j] = (moved if i % 3 == bad else target)[a : a + 48]
            pieces.append(plain(f"{log.name}/{i}", *columns, 96.0, f"session_{i % 3}"))
    return pieces


def real_ramps(folder, steps: int, bad: int) -> list[Recording]:
    """H1-2 arms: single ramps of ten joints, dealt to three sessions."""
    files = sorted(folder.glob("motor_*_joint.npz"))
    pieces = []
    for j, file in enumerate(files):
        with np.load(file) as data:
            q, target = data["real_dof_positions"], data["real_dof_positions_cmd"]
        for i in range(len(q)):
            columns = np.full((2, 50, len(files)), np.nan)
            moved = np.clip(np.arange(50) + (steps if i % 3 == bad else 0), 0, 49)
            columns[0, :, j], columns[1, :, j] = q[i], target[i][moved]
            pieces.append(plain(f"{file.stem}/{i}", *columns, 50.0, f"session_{i % 3}"))
    return pieces


@pytest.mark.parametrize("steps", [-1, 0, 1])
@pytest.mark.parametrize(
    ("make", "folder"), [(real_chirps, "kbot_leg/chirp_real"), (real_ramps, "h1_2/origin")]
)
def test_a_step_is_detected_in_real_sessions(shared_data, make, folder, steps):
    """K-Bot chirps and pooled H1-2 ramps: all of the session shifted by a step is flagged."""
    pieces = make(shared_data / folder, steps, bad=1)
    found = compare_delays(pieces)
    shifted = [r.name for r in pieces if r.provenance["source"] == "session_1"]
    assert [f.recording for f in found] == (shifted if steps else [])
    if steps:
        assert "source 'session_1'" in found[0].message
        number = float(found[0].message.split("shifted by ")[1].split()[0])
        assert abs(number - steps) < 0.25


@pytest.mark.parametrize("rate", [50, 100])
def test_real_policy_walk_is_left_alone(shared_data, rate):
    """K-Bot walking under a policy: feedback from q to command is not taken for a slip."""
    from gapless.robots import Robot

    robot = Robot.load("kbot_legs")
    folder = next((shared_data / "kbot_walk").glob(f"run{rate}hz*"))
    done = prepare(next(iter(read("kscale", folder))), robot, NEUTRAL, rate)
    assert done.recordings[0].provenance["moved_steps"] == 0
    assert 0.02 < done.recordings[0].provenance["delay_s"] < 0.07
    assert not [f for f in done.findings if f.severity == "error"]


def test_joints_told_to_stay_do_not_hide_the_one_that_moves():
    """One joint follows a slow ramp, nine hold: the delay fits, so no distant lag is looked for."""
    time = np.arange(458) / 50
    corners = [0.0, 0.4, 3.0, 6.9, 9.16], [1.7, 1.7, 1.17, 2.15, 1.69]
    target, q = (np.zeros((458, 10)) for _ in range(2))
    target[:, 1], q[:, 1] = np.interp(time, *corners), np.interp(time - 0.11, *corners)
    q += np.random.default_rng(0).normal(0, 3e-4, q.shape)
    clip = plain("ramp", q, target, 50, "synthetic")
    assert judge(clip, estimate([clip]), 0).problems == []


def test_a_log_that_changes_its_pace_loses_no_command() -> None:
    """Rows that are usual where they are miss nothing; a row that is lost there is noticed."""
    time = np.concatenate([0.0053 * np.arange(100), 0.53 + 0.0035 * np.arange(200)])
    whole = move_commands({"target": Stream(time, np.arange(300.0)[:, None])}, 1)["target"]
    assert np.flatnonzero(np.isnan(whole.values[:, 0])).tolist() == [299]
    time = np.delete(time, 150)
    holed = move_commands({"target": Stream(time, np.arange(299.0)[:, None])}, 1)["target"]
    assert np.flatnonzero(np.isnan(holed.values[:, 0])).tolist() == [149, 298]


def test_a_recording_without_one_usable_sample_has_no_delay() -> None:
    """Nothing is divided by no joints."""
    q = np.full((200, 2), np.nan)
    assert not estimate([plain("void", q, q, 50.0, "test")]).known


@pytest.mark.parametrize(("policy", "seconds", "told"), [("p", 3, 0), ("p", 8, 1), (None, 3, 1)])
def test_short_takes_of_a_policy_prove_no_drift(
    policy: str | None, seconds: int, told: int
) -> None:
    """Steps repeat: a response that comes a cycle later within a moment is another step's."""
    target = np.cumsum(np.random.default_rng(0).normal(0, 0.02, (50 * seconds, 3)), axis=0)
    clip = plain("w", np.roll(target, 2, axis=0), target, 50.0, "w")
    clip = replace(clip, conditions=Conditions(policy=policy))
    drifting = replace(estimate([clip]), drift=33.0, drift_std=3.0)
    problems = judge(clip, drifting, 0).problems
    assert sum("two clocks drift apart" in p for p in problems) == told
