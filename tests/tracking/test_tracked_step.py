"""Which bodies rewards look at, and what a step says of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics
from gapless.robots.rotations import normalise
from gapless.tracking.tracked_step import TrackedBodies, TrackedStep, heading
from gapless.worlds.world import State
from pendulum import swings


def bodies_of(robot: Robot, home: State, anchor: str) -> TrackedBodies:
    """By the robot's own groups."""
    kinematics = BodyKinematics(robot)
    return TrackedBodies.of(robot, kinematics.names, anchor, kinematics.states(home))


def test_groups_are_those_of_the_robot(walker: Robot, frames: MotionFrames) -> None:
    """Upper and lower are all bodies; hands and head are ends; feet stand where they stand."""
    which, names = bodies_of(walker, frames.state[[0]], "torso_link"), frames.names
    assert sorted([*which.upper, *which.lower]) == list(range(27))
    assert [names[k] for k in which.ends] == ["left_hand", "right_hand", "head"]
    assert [names[k] for k in which.feet] == ["left_ankle_roll_link", "right_ankle_roll_link"]
    assert names[which.anchor] == "torso_link"
    np.testing.assert_allclose(which.standing, frames.bodies.pos[0, which.feet, 2])


def test_a_robot_without_groups_has_all_bodies_in_each(rod: Robot) -> None:
    """But no feet; an anchor that is not tracked is the first body."""
    which = bodies_of(rod, MotionFrames.of(swings(), rod).state[[0]], "elsewhere")
    assert list(which.upper) == list(which.lower) == list(which.ends) == [0, 1]
    assert list(which.feet) == [] and which.anchor == 0 and which.standing.shape == (0,)


def test_heading_is_the_turn_about_the_vertical() -> None:
    """Of a robot that leans, too; upside down it is at least a turn."""
    rng = np.random.default_rng(0)
    yaw = rng.uniform(-3, 3, 20)
    lean = Rotation.from_rotvec(np.c_[rng.uniform(-1, 1, (20, 2)), np.zeros(20)])
    quat = (Rotation.from_euler("z", yaw[:, None]) * lean).as_quat(scalar_first=True)
    found = Rotation.from_quat(heading(quat), scalar_first=True)
    np.testing.assert_allclose(np.exp(1j * found.as_euler("zyx")[:, 0]), np.exp(1j * yaw))
    over = heading(np.array([[0.0, 1.0, 0.0, 0.0]]))
    assert np.isfinite(over).all()


def test_distances_angles_and_gravity(walker: Robot, frames: MotionFrames) -> None:
    """From where bodies should be; down, as the root sees it."""
    n, rng = 3, np.random.default_rng(1)
    which = bodies_of(walker, frames.state[[0]], "torso_link")
    state, bodies = frames.state[[0] * n], frames.bodies[[0] * n]
    moved = frames.bodies[[10] * n]
    quat = normalise(rng.normal(size=(n, 4)))
    tipped = State(state.q, state.dq, state.base_pos, quat)
    none = np.zeros((n, 23))
    step = TrackedStep(walker, which, tipped, moved, state, bodies, none, none)
    np.testing.assert_allclose(step.distance, np.linalg.norm(moved.pos - bodies.pos, axis=-1))
    mine, its = (Rotation.from_quat(b.quat_wxyz[0], scalar_first=True) for b in (moved, bodies))
    np.testing.assert_allclose(step.angle[0], (mine.inv() * its).magnitude(), atol=1e-7)
    down = Rotation.from_quat(quat, scalar_first=True).inv().apply([0, 0, -1])
    np.testing.assert_allclose(step.gravity, down)
    held = State(state.q, state.dq)
    assert TrackedStep(walker, which, held, moved, state, bodies, none, none).gravity is None


@pytest.mark.parametrize(("height", "touches"), [(0.0, True), (0.02, True), (0.04, False)])
def test_a_foot_touches_where_it_is_low(
    height: float, touches: bool, walker: Robot, frames: MotionFrames
) -> None:
    """Within three centimetres of where it is when the robot stands."""
    which, bodies = bodies_of(walker, frames.state[[0]], "torso_link"), frames.bodies[[0]]
    bodies.pos[..., 2] += height
    none = np.zeros((1, 23))
    state = frames.state[[0]]
    step = TrackedStep(walker, which, state, bodies, state, bodies, none, none)
    assert step.touches.tolist() == [[touches, touches]]
