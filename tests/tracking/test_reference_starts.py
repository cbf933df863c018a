"""Where episodes begin: in the motion, a little off it, more often where they fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapless.errors import NameMismatchError
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.rotations import angle_between
from gapless.tracking.reference_starts import ReferenceStarts, StartNoise
from gapless.worlds.world import State
from pendulum import pendulum, swings
from standing_motion import standing_motion

MANY = 4000


@pytest.fixture(scope="module")
def frames(walker: Robot) -> MotionFrames:
    """Five seconds: five stretches."""
    return MotionFrames.of(standing_motion(walker, 5.0), walker)


def rng() -> np.random.Generator:
    """Of a test."""
    return np.random.default_rng(0)


def drawn(frames: MotionFrames, robot: Robot, noise: StartNoise) -> tuple[State, State]:
    """The reference, and states near it."""
    starts = ReferenceStarts(frames, robot, noise)
    at = starts.frames(MANY, rng())
    return frames.state[at], starts.states(at, rng())


def test_without_noise_they_are_the_reference(walker: Robot, frames: MotionFrames) -> None:
    """Every field of a start, and nothing else."""
    wanted, found = drawn(frames, walker, StartNoise().scaled(0))
    for name, array in wanted.start().fields.items():
        np.testing.assert_allclose(found.fields[name], array, atol=1e-12, err_msg=name)
    assert found.torque is None


def test_noise_stays_within_its_bounds(walker: Robot, frames: MotionFrames) -> None:
    """And fills them."""
    size = StartNoise()
    wanted, found = drawn(frames, walker, size)
    off = {
        name: np.abs(getattr(found, name) - getattr(wanted, name))
        for name in ("q", "dq", "base_pos", "base_lin_vel_w", "base_ang_vel_b")
    }
    bounds = (size.joint, size.joint_speed, size.place, size.speed, size.spin)
    for array, bound in zip(off.values(), bounds, strict=True):
        assert 0.95 * bound < array.max() <= bound + 1e-12
    turned = angle_between(found.base_quat_wxyz, wanted.base_quat_wxyz)
    assert 0.8 * size.turn < turned.max() <= np.sqrt(3) * size.turn
    np.testing.assert_allclose(np.linalg.norm(found.base_quat_wxyz, axis=1), 1)


def test_nobody_begins_in_the_floor(walker: Robot, frames: MotionFrames) -> None:
    """The base is lifted, never lowered."""
    wanted, found = drawn(frames, walker, StartNoise())
    assert (found.base_pos[:, 2] >= wanted.base_pos[:, 2]).all()
    assert (found.base_pos[:, 0] < wanted.base_pos[:, 0]).any()


def test_joints_begin_within_their_range(frames: MotionFrames) -> None:
    """However near their end the reference is."""
    robot = Robot.load("g1_23dof", mount="free")
    middle = frames.state.q.mean(axis=0)
    tight = robot.with_joints(lower=middle - 0.12, upper=middle + 0.12)
    _, found = drawn(frames, tight, StartNoise())
    assert (found.q >= tight.joints.lower).all() and (found.q <= tight.joints.upper).all()
    assert (found.q == tight.joints.upper).any()


def test_anywhere_is_alike_and_never_the_last(walker: Robot, frames: MotionFrames) -> None:
    """Every frame but the last, which has no step left."""
    at = ReferenceStarts(frames, walker, StartNoise()).frames(20_000, rng())
    count = np.bincount(at, minlength=len(frames))
    assert count[-1] == 0 and (count[:-1] > 30).all()


def test_first_is_the_first(walker: Robot, frames: MotionFrames) -> None:
    """For those that judge."""
    at = ReferenceStarts(frames, walker, StartNoise(), "first").frames(9, rng())
    assert at.tolist() == [0] * 9


def test_failures_draw_starts_to_where_they_happened(walker: Robot, frames: MotionFrames) -> None:
    """And to the stretches before; every stretch keeps a share."""
    starts = ReferenceStarts(frames, walker, StartNoise(), "failures")
    np.testing.assert_allclose(starts.chances, 0.2)
    for _ in range(200):
        starts.note(np.full(10, 160))  # in the fourth second of five
        starts.note(np.zeros(0, int))
    chances = starts.chances
    assert chances.argmax() == 3 and chances[3] > chances[2] > chances[1] > 2 * chances[4]
    assert chances[0] == pytest.approx(chances[4]) and chances.min() > 0.01
    assert chances.sum() == pytest.approx(1)
    at = starts.frames(20_000, rng())
    share = np.bincount(np.minimum(at // 50, 4), minlength=5) / len(at)
    np.testing.assert_allclose(share, chances, atol=0.02)
    assert at.max() < len(frames) - 1


def test_what_was_long_ago_is_forgotten(walker: Robot, frames: MotionFrames) -> None:
    """Where episodes no longer fail they need not begin."""
    starts = ReferenceStarts(frames, walker, StartNoise(), "failures")
    for place in (10, 240):
        for _ in range(4000):
            starts.note(np.array([place]))
    assert starts.chances.argmax() == 4
    starts.note(np.array([len(frames) - 1]))  # the very end is in the last stretch


def test_failures_are_kept_and_restored(walker: Robot, frames: MotionFrames) -> None:
    """As a checkpoint does it; what was kept does not change afterwards."""
    starts, again = (ReferenceStarts(frames, walker, StartNoise(), "failures") for _ in range(2))
    starts.note(np.array([100]))
    kept = starts.arrays()
    again.restore(kept)
    np.testing.assert_array_equal(again.chances, starts.chances)
    starts.note(np.array([200]))
    assert (kept["failures"] == again.failures).all() and (
        kept["failures"] != starts.failures
    ).any()


def test_a_held_robot_has_no_base(tmp_path: Path) -> None:
    """Nor has its start; a motion of a second is one stretch."""
    robot = pendulum(tmp_path)
    starts = ReferenceStarts(MotionFrames.of(swings(), robot), robot, StartNoise(), "failures")
    state = starts.states(starts.frames(3, rng()), rng())
    assert state.base_pos is None and state.q.shape == (3, 1)
    assert starts.chances.tolist() == [1.0]


def test_a_place_that_is_not_known_is_refused(walker: Robot, frames: MotionFrames) -> None:
    """With those that are."""
    with pytest.raises(NameMismatchError, match=r"unknown place to start 'last'.*anywhere"):
        ReferenceStarts(frames, walker, StartNoise(), "last")
