"""SimLifter's three levels."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.motions import level_motions
from gapless.motions.collisions import overlaps
from gapless.motions.limits import check_motion
from gapless.robots import Robot


@pytest.fixture(scope="module")
def ten() -> Robot:
    """The ten arm joints of an H1-2 that SimLifter moves."""
    robot = Robot.load("h1_2", mount="fixed")
    moved = robot.joint_groups["gaponet"]
    return robot.lock([j for j in robot.joints.names if j not in moved])


def test_one_joint_moves_at_the_first_level(ten: Robot) -> None:
    """Every joint and every shape takes its turn; the others hold a posture."""
    motions = level_motions(ten, "per_joint", 40, 2.0)
    moved = [np.flatnonzero(np.ptp(m.q, axis=0) > 1e-9) for m in motions]
    assert all(len(columns) == 1 for columns in moved)
    assert {int(columns[0]) for columns in moved} == set(range(10))
    assert len({m.name for m in motions}) == 40
    kinds = {(m.name.split("_")[3], m.name.split("_", 4)[4]) for m in motions}
    assert len(kinds) == 40
    assert np.ptp(np.array([m.q[0] for m in motions]), axis=0).min() > 0.5


@pytest.mark.parametrize("level", ["upper_body", "whole_body"])
def test_all_joints_move_together_at_the_others(level: str, ten: Robot) -> None:
    """From the default pose and back to it."""
    for motion in level_motions(ten, level, 4, 5.0):
        assert (np.ptp(motion.q, axis=0) > 1e-3).all()
        assert np.allclose(motion.q[[0, -1]], ten.joints.default, atol=1e-9)


def test_the_upper_body_leaves_the_legs_alone() -> None:
    """Arms and waist move, nothing else does."""
    robot = Robot.load("h1_2", mount="fixed")
    motion = level_motions(robot, "upper_body", 1, 4.0)[0]
    moved = {j for j, s in zip(motion.joints, np.ptp(motion.q, axis=0), strict=True) if s > 0}
    assert moved == set(robot.joint_groups["upper_body"])
    legs = Robot.load("kbot_legs")
    with pytest.raises(DataError, match="no arms"):
        level_motions(legs, "upper_body", 1, 4.0)


@pytest.mark.slow
def test_many_motions_span_the_range(ten: Robot) -> None:
    """As in the paper's Figure 2: most of each joint's valid range is visited."""
    motions = [
        motion
        for level in ("per_joint", "upper_body")
        for motion in level_motions(ten, level, 60, 4.0, 20)
    ]
    q = np.concatenate([m.q for m in motions])
    span = np.percentile(q, 99, axis=0) - np.percentile(q, 1, axis=0)
    assert (span > 0.75 * (ten.joints.upper - ten.joints.lower)).all()


@pytest.mark.parametrize("level", ["per_joint", "upper_body"])
def test_no_motion_breaks_a_limit(level: str, ten: Robot) -> None:
    """Unloaded, on the nominal robot."""
    for motion in level_motions(ten, level, 8, 4.0, seed=5):
        assert check_motion(motion, ten).ok, motion.name


def test_motions_that_collide_are_drawn_again(arms: Robot) -> None:
    """The arms of a G1 get in each other's way often; what is returned never does."""
    motions = level_motions(arms, "upper_body", 4, 3.0)
    assert overlaps(arms, np.concatenate([m.q for m in motions])) == {}


def test_a_seed_decides_the_motions(ten: Robot) -> None:
    """Whatever the count."""
    few, many = (level_motions(ten, "upper_body", n, 2.0, seed=4) for n in (2, 5))
    assert all(np.array_equal(a.q, b.q) for a, b in zip(few, many, strict=False))
    other = level_motions(ten, "upper_body", 1, 2.0, seed=5)
    assert not np.array_equal(few[0].q, other[0].q)


def test_unknown_levels_are_refused(ten: Robot) -> None:
    """With the nearest right name."""
    with pytest.raises(NameMismatchError, match="Did you mean 'upper_body'"):
        level_motions(ten, "upperbody", 1, 2.0)


def test_levels_that_move_the_same_joints_are_different_motions(ten):
    """Of a robot with arms alone, the upper body is the whole body; twins would be one motion."""
    upper, whole = (level_motions(ten, level, 3, 4.0) for level in ("upper_body", "whole_body"))
    for one, other in zip(upper, whole, strict=True):
        assert np.abs(one.q - other.q).max() > 0.1
