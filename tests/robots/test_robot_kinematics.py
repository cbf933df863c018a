"""Our forward kinematics against MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.robots import Kinematics, Robot, TrackingPoint
from gapless.robots.rotations import normalise, rotate

SLIDER = """
<mujoco><compiler angle="degree"/><worldbody><body name="base" pos="0 0 1">
<geom size=".05"/><body name="a" pos=".1 0 0" euler="10 20 30"><geom size=".05"/>
<joint name="turn" axis="1 2 0" pos=".02 0 .1" ref="15"/>
<joint name="slide" type="slide" axis="0 1 1"/>
<body name="b" pos="0 0 .3"><geom size=".05"/><joint name="end" axis="0 0 1"/></body></body></body>
</worldbody><actuator><position joint="turn" kp="5"/><position joint="slide" kp="5"/>
<position joint="end" kp="5"/></actuator></mujoco>
"""


def reference(robot: Robot, q: np.ndarray, base: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Link poses (N, B, 3) and (N, B, 4) as MuJoCo computes them, one state at a time."""
    model = robot.model()
    data = mujoco.MjData(model)
    poses = []
    for i, row in enumerate(q):
        for name, angle in zip(robot.joints.names, row, strict=True):
            data.joint(name).qpos[0] = angle
        if base is not None:
            data.qpos[:7] = base[i]
        mujoco.mj_kinematics(model, data)
        poses.append([np.r_[data.body(n).xpos, data.body(n).xquat] for n in robot.links])
    return np.array(poses)[..., :3], np.array(poses)[..., 3:]


def assert_same_poses(robot: Robot, base: np.ndarray | None, n: int = 5) -> None:
    """Demand both kinematics to agree at random joint positions."""
    q = np.random.default_rng(0).uniform(-1, 1, (n, len(robot.joints)))
    kinematics = Kinematics(robot.model(), robot)
    where = [] if base is None else [base[:, :3], base[:, 3:]]
    pos, quat = kinematics.link_poses(q, *where)
    columns = [kinematics.links.index(link) for link in robot.links]
    want_pos, want_quat = reference(robot, q, base)
    np.testing.assert_allclose(pos[:, columns], want_pos, atol=1e-12)
    same = np.abs(np.sum(quat[:, columns] * want_quat, axis=-1))
    np.testing.assert_allclose(same, 1, atol=1e-12)


@pytest.mark.parametrize("name", ["g1_23dof", "go2", "h1_2", "kbot", "kbot_legs"])
def test_free_robot_agrees_with_mujoco(name):
    """At random states, with a random base, every link is where MuJoCo has it."""
    rng = np.random.default_rng(1)
    base = np.concatenate([rng.normal(size=(5, 3)), normalise(rng.normal(size=(5, 4)))], axis=1)
    assert_same_poses(Robot.load(name, mount="free"), base)


@pytest.mark.parametrize("mount", ["fixed", "left_foot"])
def test_held_robot_agrees_with_mujoco(mount):
    """Without a base pose, the mount decides where the robot is."""
    assert_same_poses(Robot.load("g1", mount=mount), None)


def test_slides_offsets_and_references_agree_with_mujoco(tmp_path):
    """Joints off the origin, two on one body, with a nonzero reference angle."""
    path = tmp_path / "slider.xml"
    path.write_text(SLIDER)
    assert_same_poses(Robot.from_mjcf(path), None)


def test_a_base_pose_carries_a_clamped_robot_along():
    """A measured pelvis pose wins over the clamp, and the shape of the robot stays."""
    robot = Robot.load("g1", mount="left_foot")
    q = np.random.default_rng(2).uniform(-0.3, 0.3, (4, 29))
    kinematics = Kinematics.of(robot)
    pos, _ = kinematics.link_poses(q, base_pos=np.array([1.0, 2.0, 3.0]))
    still, _ = kinematics.link_poses(q)
    root = kinematics.links.index("pelvis")
    np.testing.assert_allclose(pos[:, root], np.tile([1, 2, 3], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(pos - pos[:, [root]], still - still[:, [root]], atol=1e-12)


def test_points_are_carried_by_their_links():
    """A tracking point is its link's pose applied to the offset."""
    robot = Robot.load("g1", mount="fixed")
    kinematics = Kinematics.of(robot)
    q = np.random.default_rng(3).uniform(-1, 1, (6, 29))
    hand = TrackingPoint("hand", "left_elbow_link", (0.25, 0.0, 0.0))
    pos, quat = kinematics.link_poses(q)
    column = kinematics.links.index("left_elbow_link")
    want = pos[:, column] + rotate(quat[:, column], np.array([0.25, 0, 0]))
    np.testing.assert_allclose(kinematics.points(q, points=[hand])[:, 0], want, atol=1e-12)
    assert kinematics.points(q, points=robot.tracking).shape == (6, 27, 3)


def test_wrong_columns_and_links_are_refused():
    """A q of another robot, or a point on no link, is named."""
    kinematics = Kinematics.of(Robot.load("so101"))
    with pytest.raises(DataError, match="7 columns, the robot has 6"):
        kinematics.link_poses(np.zeros((2, 7)))
    with pytest.raises(NameMismatchError, match="grippper"):
        kinematics.points(np.zeros(6), points=[TrackingPoint("x", "grippper")])
