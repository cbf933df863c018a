"""Which joints data are enough for: the worst ones that moved, rather than none."""

from __future__ import annotations

import numpy as np
import pytest

from gapless.corrections.training.enough_data import left_out, seconds_of
from gapless.corrections.training.task import Task
from gapless.errors import DataError
from gapless.motions.excitation import multisine
from gapless.robots import Robot
from gapless.worlds import MujocoWorld
from gapless.worlds.record import record
from hidden_pair import STEP, recorded

JOINTS = ("shoulder_lift", "elbow_flex")
OWN, SHARED = (0, 1), (0, 0)


def test_enough_data_leave_no_joint_out(task: Task) -> None:
    """Two seconds for each network."""
    assert seconds_of(task.learn) == pytest.approx(18.0)
    assert not left_out(task.world, task.learn, JOINTS, OWN, 4.0, 0.5)
    assert not left_out(task.world, task.learn, JOINTS, SHARED, 2.0, 0.5)


@pytest.mark.parametrize("wrong", JOINTS)
def test_the_joint_that_is_wrong_is_corrected(pair: Robot, wrong: str) -> None:
    """The other one has the smaller replay error, and that is said."""
    weak = np.array([0.5 if j == wrong else 1.0 for j in JOINTS])
    clips = recorded(pair.with_joints(kp=weak * pair.joints.kp), ["a"], noise=0.0, seconds=3.0)
    world = MujocoWorld(pair, 50, physics_step=STEP)
    left = left_out(world, clips, JOINTS, OWN, 3.0, 0.5)
    assert left.keys() == {*JOINTS} - {wrong}
    assert "3 s are enough for 1 of 2 networks" in next(iter(left.values()))


def test_a_joint_that_hardly_moved_is_left_out(pair: Robot) -> None:
    """However wrong it is: there is nothing to learn from."""
    world = MujocoWorld(pair, 50, physics_step=STEP)
    motion = multisine(pair, 3.0, 50, seed=0) * [1.0, 0.0]
    soft = pair.with_joints(kp=np.array([1.0, 0.3]) * pair.joints.kp)
    clip = record(MujocoWorld(soft, 50, physics_step=STEP), motion, "a", start=world.home())
    # The arm sags at the start; afterwards the elbow only trembles.
    left = left_out(world, [clip.clip(75, len(clip))], JOINTS, OWN, 3.0, 0.5)
    assert left.keys() == {"elbow_flex"} and "moved" in left["elbow_flex"]


def test_nothing_left_is_refused(task: Task) -> None:
    """With what would be enough."""
    match = r"2 s of recordings are too few to correct 2 joints: expected at least 4 s.*--joints"
    with pytest.raises(DataError, match=match):
        left_out(task.world, task.learn, JOINTS, OWN, 1.5, 0.5)
