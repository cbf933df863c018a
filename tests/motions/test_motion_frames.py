"""A motion on the clock of a controller: velocities, bodies, and motions that cannot be tracked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.motions import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics
from gapless.robots.rotations import about, conj, mul, rotate
from pendulum import pendulum, swings

W, TILT = 2.5, np.array([0.3, 0.0])
RATE = 50.0


@pytest.fixture(scope="module")
def walker() -> Robot:
    """A humanoid on its feet."""
    return Robot.load("g1_23dof", mount="free")


def circling(robot: Robot, seconds: float = 2.0, rate: float = RATE, flips: bool = False) -> Motion:
    """Joints swing, the base goes round in a circle, turns with it and leans."""
    time = np.arange(round(seconds * rate) + 1) / rate
    phase = np.linspace(0, 3, len(robot.joints))
    q = robot.joints.default + 0.2 * np.sin(W * time[:, None] + phase)
    place = np.stack([np.cos(W * time), np.sin(W * time), 0.8 + 0.05 * np.sin(W * time)], axis=1)
    lean = about(np.array([1.0, 0.0, 0.0]), 0.3)
    quat = mul(about(np.array([0.0, 0.0, 1.0]), W * time), lean)
    quat = quat * np.where(np.arange(len(time)) % 2, -1, 1)[:, None] if flips else quat
    return Motion("circles", robot.joints.names, rate, q, place, quat)


@pytest.mark.parametrize("flips", [False, True])
def test_velocities_are_those_of_the_motion(walker: Robot, flips: bool) -> None:
    """Of joints and base, as calculus has them; whichever sign a quaternion has."""
    frames = MotionFrames.of(circling(walker, flips=flips), walker)
    state, time = frames.state, np.arange(len(frames)) / RATE
    inner, near = slice(1, -1), {"atol": 3e-3}
    phase = np.linspace(0, 3, len(walker.joints))
    swing = 0.2 * W * np.cos(W * time[:, None] + phase)
    np.testing.assert_allclose(state.dq[inner], swing[inner], **near)
    along = W * np.stack([-np.sin(W * time), np.cos(W * time), 0.05 * np.cos(W * time)], axis=1)
    np.testing.assert_allclose(state.base_lin_vel_w[inner], along[inner], **near)
    lean = about(np.array([1.0, 0.0, 0.0]), 0.3)
    own = rotate(conj(lean), np.array([0.0, 0.0, W]))  # the spin, as a gyroscope has it
    np.testing.assert_allclose(state.base_ang_vel_b, np.tile(own, (len(frames), 1)), atol=1e-9)
    for array in (state.dq, state.base_lin_vel_w):  # over one frame at the ends
        assert np.abs(array[[0, -1]] - array[[1, -2]]).max() < 0.2


def test_bodies_move_as_their_positions_say(walker: Robot) -> None:
    """Velocities of bodies are slopes of their positions, up to the step's error."""
    frames = MotionFrames.of(circling(walker), walker)
    slopes = np.gradient(frames.bodies.pos, axis=0) * RATE
    np.testing.assert_allclose(frames.bodies.lin_vel[1:-1], slopes[1:-1], atol=0.02)
    assert frames.names == BodyKinematics(walker).names
    assert frames.joints == walker.joints.names
    assert len(frames.bodies) == len(frames) == 101 and frames.seconds == 2.0


def test_a_motion_comes_onto_the_clock_of_the_controller(walker: Robot) -> None:
    """From 30 a second to the robot's own rate, or to another."""
    slow = circling(walker, rate=30.0)
    assert len(MotionFrames.of(slow, walker)) == 101
    fast = MotionFrames.of(slow, walker, 100.0)
    assert (len(fast), fast.rate, fast.name) == (201, 100.0, "circles")
    np.testing.assert_allclose(fast.bodies.pos[0], MotionFrames.of(slow, walker).bodies.pos[0])


def test_joints_are_matched_by_name(walker: Robot) -> None:
    """In whichever order a motion has them; those that it lacks stay at the default."""
    motion = circling(walker)
    turned = replace(motion, joints=motion.joints[::-1], q=motion.q[:, ::-1])
    same = MotionFrames.of(turned, walker)
    np.testing.assert_array_equal(same.state.q, MotionFrames.of(motion, walker).state.q)
    legs = replace(motion, joints=motion.joints[:6], q=motion.q[:, :6])
    few = MotionFrames.of(legs, walker).state
    np.testing.assert_array_equal(few.q[:, 6:], np.tile(walker.joints.default[6:], (101, 1)))
    assert not few.dq[:, 6:].any()


def test_quaternions_that_were_rounded_stretch_nobody(walker: Robot) -> None:
    """A motion may have them a hundredth off one; its bodies are where they are."""
    motion = circling(walker)
    rough = replace(motion, base_quat_wxyz=1.009 * motion.base_quat_wxyz)
    exact = MotionFrames.of(motion, walker).bodies
    found = MotionFrames.of(rough, walker).bodies
    np.testing.assert_allclose(found.pos, exact.pos, atol=1e-9)
    np.testing.assert_allclose(found.ang_vel, exact.ang_vel, atol=1e-9)


def test_a_held_robot_needs_no_base(tmp_path) -> None:
    """And ignores one."""
    robot, motion = pendulum(tmp_path), swings()
    bare = MotionFrames.of(motion, robot)
    assert bare.state.base_pos is None and bare.state.base_ang_vel_b is None
    count = len(motion)
    based = replace(motion, base_pos=np.ones((count, 3)), base_quat_wxyz=np.eye(4)[[0] * count])
    np.testing.assert_array_equal(MotionFrames.of(based, robot).bodies.pos, bare.bodies.pos)


def test_what_cannot_be_tracked_is_refused(walker: Robot) -> None:
    """Too short; no base of a robot on its feet; another robot's joints."""
    motion = circling(walker)
    with pytest.raises(DataError, match=r"'circles' lasts 0.10 s; a tracker needs 0.2 s"):
        MotionFrames.of(circling(walker, 0.1), walker)
    for lacking in ({"base_pos": None}, {"base_quat_wxyz": None}):
        with pytest.raises(DataError, match=r"where the base is, which a g1_23dof on its feet"):
            MotionFrames.of(replace(motion, **lacking), walker)
    with pytest.raises(NameMismatchError, match="swing"):
        MotionFrames.of(swings(), walker)
