"""Poses and velocities of bodies against MuJoCo's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

from gapless.errors import ModelError, NameMismatchError
from gapless.robots import Robot, TrackingPoint
from gapless.robots.body_states import BodyKinematics, BodyStates
from gapless.robots.rotations import mul, normalise, rotate
from gapless.worlds.world import State

XBODY = mujoco.mjtObj.mjOBJ_XBODY
ODD = """
<mujoco><compiler angle="degree"/><worldbody>
<body name="base" pos="0 0 1" euler="0 30 10"><geom size=".05"/>
<body name="a" pos=".1 0 .2" euler="10 20 30"><geom size=".05"/>
<joint name="turn" axis="1 2 0" pos=".02 0 .1" ref="15"/>
<joint name="slide" type="slide" axis="0 1 1" pos=".3 .1 0"/>
<joint name="swing" axis="0 1 -1" pos="-.1 .05 0"/>
<body name="b" pos="0 .1 .3"><geom size=".05"/><joint name="end" axis="0 0 1" pos=".2 0 0"/></body>
<body name="c" pos="0 -.1 .1" euler="0 0 90"><geom size=".05"/></body>
</body></body></worldbody><actuator><position joint="turn" kp="5"/><position joint="slide" kp="5"/>
<position joint="swing" kp="5"/><position joint="end" kp="5"/></actuator></mujoco>
"""


@pytest.fixture
def odd(tmp_path: Path) -> Robot:
    """Three joints in one link, one of them slides, anchors off the origin, a link without any."""
    path = tmp_path / "odd.xml"
    path.write_text(ODD)
    return Robot.from_mjcf(path)


def postures(robot: Robot, count: int = 5) -> State:
    """Anything a robot may do, and more."""
    rng, shape = np.random.default_rng(0), (count, len(robot.joints))
    q, dq = rng.uniform(-1, 1, shape), rng.normal(size=shape)
    if robot.mount != "free":
        return State(q, dq)
    pos, vel, spin = rng.normal(size=(3, count, 3))
    return State(q, dq, pos, normalise(rng.normal(size=(count, 4))), vel, spin)


def by_mujoco(robot: Robot, states: State, points: tuple[TrackingPoint, ...]) -> BodyStates:
    """One state at a time, by mj_forward and mj_objectVelocity."""
    model = robot.model()
    data = mujoco.MjData(model)
    rows = []
    for i in range(len(states)):
        for name, q, dq in zip(robot.joints.names, states.q[i], states.dq[i], strict=True):
            data.joint(name).qpos[0], data.joint(name).qvel[0] = q, dq
        if states.base_pos is not None:
            data.qpos[:7] = np.r_[states.base_pos[i], states.base_quat_wxyz[i]]
            data.qvel[:6] = np.r_[states.base_lin_vel_w[i], states.base_ang_vel_b[i]]
        mujoco.mj_forward(model, data)
        rows.append([seen_body(model, data, point) for point in points])
    pos, quat, vel, spin = np.split(np.array(rows), [3, 7, 10], axis=-1)
    return BodyStates(pos, quat, vel, spin)


def seen_body(model: mujoco.MjModel, data: mujoco.MjData, point: TrackingPoint) -> np.ndarray:
    """Position, orientation, velocity and spin of a point on a link, in the world."""
    body, found = data.body(point.body), np.zeros(6)
    mujoco.mj_objectVelocity(model, data, XBODY, body.id, found, 0)
    arm = body.xmat.reshape(3, 3) @ point.offset
    spin, vel = found[:3], found[3:]
    return np.r_[body.xpos + arm, body.xquat, vel + np.cross(spin, arm), spin]


def assert_as_mujoco(robot: Robot, bodies: tuple[TrackingPoint, ...] | None = None) -> None:
    """Every number, to rounding; quaternions up to their sign."""
    kinematics, states = BodyKinematics(robot, bodies), postures(robot)
    found = kinematics.states(states)
    wanted = by_mujoco(robot, states, kinematics.bodies)
    for name in ("pos", "lin_vel", "ang_vel"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), atol=1e-9, err_msg=name
        )
    same = np.abs((found.quat_wxyz * wanted.quat_wxyz).sum(axis=-1))
    np.testing.assert_allclose(same, 1, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "mount"),
    [
        ("g1_23dof", "free"),
        ("h1_2", "fixed"),
        ("so101", "fixed"),
        ("go2", "free"),
        ("g1", "left_foot"),
    ],
)
def test_tracking_points_agree_with_mujoco(name: str, mount: str) -> None:
    """Hands and head, which are points on links, among them."""
    assert_as_mujoco(Robot.load(name, mount=mount))


def test_joints_of_every_kind_agree_with_mujoco(odd: Robot) -> None:
    """All links where the robot names no points; then points off them."""
    bare = replace(odd, tracking=())
    assert BodyKinematics(bare).names == odd.links
    assert_as_mujoco(bare)
    assert_as_mujoco(odd, tuple(TrackingPoint(n, n, (0.1, -0.2, 0.3)) for n in ("b", "a", "c")))


def test_a_free_robot_of_odd_joints_agrees_with_mujoco(odd: Robot) -> None:
    """What the file says of where its first link hangs no longer counts."""
    assert_as_mujoco(odd.with_mount("free"))


def test_locked_joints_stay_where_they_were_locked() -> None:
    """Columns are those of the joints that are left."""
    assert_as_mujoco(Robot.load("g1_23dof", mount="free", lock=["waist_yaw_joint", "arms"]))


def test_velocities_are_the_slopes_of_positions() -> None:
    """Of a turning, flying robot, by differences over a tenth of a millisecond."""
    robot = Robot.load("g1_23dof", mount="free")
    now, step = postures(robot), 1e-4
    half = 0.5 * step * now.base_ang_vel_b
    turn = normalise(np.concatenate([np.ones((len(now), 1)), half], axis=1))
    after = State(
        now.q + step * now.dq,
        now.dq,
        now.base_pos + step * now.base_lin_vel_w,
        mul(now.base_quat_wxyz, turn),
        now.base_lin_vel_w,
        now.base_ang_vel_b,
    )
    kinematics = BodyKinematics(robot)
    before, later = kinematics.states(now), kinematics.states(after)
    np.testing.assert_allclose((later.pos - before.pos) / step, before.lin_vel, atol=0.01)


def test_some_rows_and_some_bodies() -> None:
    """Columns by `of`, rows by an index."""
    robot = Robot.load("so101")
    kinematics = BodyKinematics(robot)
    found = kinematics.states(postures(robot))
    assert len(found) == 5 and len(found[[1, 3]]) == 2
    assert found.of([2]).pos.shape == (5, 1, 3)
    np.testing.assert_array_equal(found.of([2]).pos[:, 0], found.pos[:, 2])
    assert kinematics.names[2] == kinematics.bodies[2].name


def test_a_point_moves_with_its_link() -> None:
    """A point off a link is turned with it."""
    robot = Robot.load("so101")
    points = TrackingPoint("link", "gripper"), TrackingPoint("tip", "gripper", (0, 0, 0.1))
    found = BodyKinematics(robot, points).states(postures(robot))
    out = rotate(found.quat_wxyz[:, 0], np.array([0, 0, 0.1]))
    np.testing.assert_allclose(found.pos[:, 1] - found.pos[:, 0], out, atol=1e-12)


def test_what_cannot_be_is_named(odd: Robot) -> None:
    """A link that is not there; a free root that hangs on another link."""
    with pytest.raises(NameMismatchError, match="unknown link 'tail'"):
        BodyKinematics(Robot.load("go2"), [TrackingPoint("tail", "tail")])
    inner = replace(odd, root="a", mount="free")
    with pytest.raises(ModelError, match="'a' is free, but hangs on 'base'"):
        BodyKinematics(inner)
