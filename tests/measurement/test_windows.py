"""Windows: what is cut from recordings, where replays start, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError
from gapless.measurement.windows import LONGEST_DELAY, windows_of
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Payload, Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record

NOISE = 1e-3


@pytest.fixture(scope="module")
def clean(so101: Robot) -> Recording:
    """Four seconds of the arm, without noise; a servo logs no velocity."""
    world = MujocoWorld(so101)
    clip = record(world, multisine(so101, 4.0, 50, seed=0), "m0", start=world.home())
    return replace(clip, channels={})


@pytest.fixture(scope="module")
def noisy(clean: Recording) -> Recording:
    """The same with encoder noise."""
    rng = np.random.default_rng(0)
    return replace(clean, q=clean.q + rng.normal(0, NOISE, clean.q.shape))


def test_windows_cover_the_recording(clean: Recording, so101: Robot) -> None:
    """They follow each other: every reading but the first is compared exactly once."""
    found = windows_of([clean], so101, 0.5)
    steps = 25
    assert (len(found), found.steps, found.rate) == (7, steps, 50.0)
    assert found.seconds == pytest.approx(3.5)
    np.testing.assert_array_equal(found.real.q.reshape(-1, 6), clean.q[1 : 7 * steps + 1])
    np.testing.assert_array_equal(
        found.commands.target[:, found.before :].reshape(-1, 6), clean.target[: 7 * steps]
    )
    assert found.weight.all() and found.names == ("m0",)


def test_many_recordings_are_seen_at_other_moments(clean: Recording, so101: Robot) -> None:
    """A window of each is not the first of each, where a robot still stands: all phases occur."""
    clips = [replace(clean, name=f"m{k}") for k in range(10)]
    found = windows_of(clips, so101, 0.5, limit=10)
    assert sorted(found.recording) == list(range(10))
    firsts = [int(np.abs(clean.q - q).sum(axis=1).argmin()) for q in found.real.q[:, 0]]
    assert len(set(firsts)) >= 6


def test_a_limit_is_reached_where_it_can_be(clean: Recording, so101: Robot) -> None:
    """Short recordings leave their share to long ones, and no window comes twice."""
    short = clean.clip(0, 30)
    found = windows_of([clean, short, clean], so101, 0.5, limit=12)
    assert len(found) == 12
    starts = list(zip(found.recording, found.real.q[:, 0, 0], strict=True))
    assert len(set(starts)) == 12


def test_commands_before_a_start_are_kept(clean: Recording, so101: Robot) -> None:
    """As many as the longest delay needs; before the recording its first one was held."""
    found = windows_of([clean], so101, 0.5)
    assert found.before >= LONGEST_DELAY * clean.rate
    np.testing.assert_array_equal(
        found.commands.target[1, : found.before], clean.target[25 - found.before : 25]
    )
    before = found.commands.target[0, : found.before]
    np.testing.assert_array_equal(before, np.tile(clean.target[0], (found.before, 1)))


def test_replayed_by_their_own_world_windows_fit(clean: Recording, so101: Robot) -> None:
    """Starts, commands and readings belong together: the error is that of the start's speed."""
    found, world = windows_of([clean], so101, 0.5), MujocoWorld(so101)
    played = world.rollout(found.start, found.commands.target[:, found.before :])
    assert np.abs(played.q[:, 1:] - found.real.q).max() < 2e-3


def test_starts_are_smoothed_and_readings_are_not(
    clean: Recording, noisy: Recording, so101: Robot
) -> None:
    """A cubic through the readings is nearer the truth than one reading."""
    found = windows_of([noisy], so101, 0.5)
    raw = windows_of([noisy], so101, 0.5, smooth=False)
    exact = MujocoWorld(so101).rollout(MujocoWorld(so101).home(), clean.target[None])
    at = np.arange(7) * 25
    inner = slice(1, None)  # the first start has readings on one side only
    errors = [np.std((f.start.q - exact.q[0, at])[inner]) for f in (found, raw)]
    assert errors[0] < 0.9 * errors[1]
    assert np.std((found.start.dq - exact.dq[0, at])[inner]) < 1.1 * NOISE * 50
    np.testing.assert_array_equal(found.real.q, raw.real.q)
    np.testing.assert_array_equal(raw.start.q, noisy.q[at])


def test_logged_speeds_are_taken_as_they_are(noisy: Recording, so101: Robot) -> None:
    """Drives know their speed better than their positions tell."""
    speed = np.random.default_rng(1).normal(size=noisy.q.shape)
    found = windows_of([replace(noisy, channels={"dq": speed})], so101, 0.5)
    np.testing.assert_array_equal(found.start.dq, speed[np.arange(7) * 25])


def test_masked_readings_weigh_nothing(noisy: Recording, so101: Robot) -> None:
    """A joint that is never usable weighs 0; windows do not cross a gap of the others."""
    mask = noisy.mask.copy()
    mask[:, 5] = False
    mask[60:70] = False
    q = np.where(mask, noisy.q, np.nan)
    q[:, 5] = 0.0
    q[60:70] = 7.0
    found = windows_of([replace(noisy, q=q, mask=mask)], so101, 0.5)
    assert not found.weight[..., 5].any() and found.weight[..., :5].all()
    assert len(found) == 2 + 5 and np.abs(found.real.q).max() < 3
    assert np.abs(found.start.q).max() < 3  # the filler does not leak through the smoothing


def test_a_start_next_to_a_gap_is_not_smoothed_over_it(noisy: Recording, so101: Robot) -> None:
    """There the reading itself is taken."""
    mask = noisy.mask.copy()
    mask[60:70] = False
    found = windows_of([replace(noisy, mask=mask)], so101, 0.5)
    after = np.flatnonzero((found.real.q[:, 0] == noisy.q[71]).all(axis=1))
    np.testing.assert_array_equal(found.start.q[after[0]], noisy.q[70])


def test_a_limit_spreads_over_the_recordings(clean: Recording, so101: Robot) -> None:
    """Each recording gives its share, and says which it is."""
    clips = [clean, replace(clean, name="m1")]
    found = windows_of(clips, so101, 0.5, limit=6)
    assert found.recording.tolist() == [0, 0, 0, 1, 1, 1] and found.names == ("m0", "m1")
    some = found[found.recording == 1]
    assert len(some) == 3 and len(some.conditions) == 3
    np.testing.assert_array_equal(some.real.q, found.real.q[3:])


def test_full_takes_the_shortest_recording(clean: Recording, so101: Robot) -> None:
    """One length for all."""
    clips = [clean, replace(clean.clip(0, 120), name="short")]
    assert windows_of(clips, so101, "full").steps == 119


def test_columns_follow_the_robot(clean: Recording, so101: Robot) -> None:
    """Joints are matched by name; a joint that was held is simulated and not compared."""
    order = [3, 0, 5, 1, 4]
    shuffled = Recording(
        name="m0",
        joints=tuple(clean.joints[i] for i in order),
        rate=50.0,
        q=clean.q[:, order],
        target=clean.target[:, order],
        mask=clean.mask[:, order],
        conditions=Conditions(held={"elbow_flex": 0.2}),
    )
    found, plain = (windows_of([c], so101, 0.5) for c in (shuffled, clean))
    known = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(found.real.q[..., known], plain.real.q[..., known])
    assert not found.weight[..., 2].any() and found.weight[..., known].all()
    np.testing.assert_array_equal(found.commands.target[..., 2], 0.2)


def test_stated_loads_can_be_left_out(clean: Recording, so101: Robot) -> None:
    """A fit that looks for a load must not be told it; gains stay."""
    told = Conditions(payloads={"gripper": Payload(0.2)}, gains={"gripper": (5.0, 0.1)})
    found = windows_of([replace(clean, conditions=told)], so101, 0.5)
    assert found.conditions[0].payloads == {"gripper": Payload(0.2)}
    bare = found.unloaded().conditions
    assert {c.payloads for c in bare} == {None}
    assert all(c.gains == {"gripper": (5.0, 0.1)} for c in bare)


def test_recordings_that_cannot_be_fitted_are_refused(clean: Recording, so101: Robot) -> None:
    """Of another robot, without commands, at mixed rates, too short, or none at all."""
    joints = tuple(f"other_{j}" for j in clean.joints)
    with pytest.raises(DataError, match=r"'m0' is of another robot.*other_shoulder_pan.*--robot"):
        windows_of([replace(clean, joints=joints)], so101)
    with pytest.raises(DataError, match="'m0' has no commands"):
        windows_of([replace(clean, target=None)], so101)
    with pytest.raises(DataError, match=r"different rates \(100 and 50 Hz\).*--rate"):
        windows_of([clean, replace(clean, rate=100.0)], so101)
    with pytest.raises(DataError, match=r"no recording has an unbroken stretch of 5 s.*--horizon"):
        windows_of([clean], so101, 5.0)
    with pytest.raises(DataError, match="no recording to fit"):
        windows_of([], so101)
    some = replace(
        clean,
        joints=clean.joints[:5],
        q=clean.q[:, :5],
        target=clean.target[:, :5],
        mask=clean.mask[:, :5],
    )
    with pytest.raises(DataError, match="says nothing of gripper"):
        windows_of([some], so101)


def test_a_clip_shorter_than_the_smoothing_starts_from_its_readings(
    noisy: Recording, so101: Robot
) -> None:
    """A cubic needs more samples than there are."""
    found = windows_of([noisy.clip(50, 54)], so101, 0.04)
    np.testing.assert_array_equal(found.start.q[0], noisy.q[50])


def test_only_a_logged_base_counts() -> None:
    """One that is put on the floor by its feet is a guess; an arm has none."""
    robot = Robot.load("go2", mount="free")
    world = MujocoWorld(robot)
    targets = np.tile(robot.joints.default, (50, 1))
    logged = record(world, targets, "still", start=world.home())
    guessed = replace(logged, channels={"imu_quat_wxyz": logged.channels["base_quat_wxyz"]})
    assert windows_of([logged, guessed], robot, 0.5).base_weight.tolist() == [1, 0]
