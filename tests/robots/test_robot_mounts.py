"""The same mechanism, held otherwise, has the same kinematics and dynamics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.errors import NameMismatchError
from gapless.robots import Robot

CASES = [
    ("g1", "left_foot", "left_ankle_roll_link"),
    ("g1", "torso_link", "torso_link"),
    ("h1_2", "right_foot", "right_ankle_roll_link"),
    ("kbot", "right_foot", "KB_D_501R_R_LEG_FOOT"),
    ("go2", "RL_calf", "RL_calf"),
]


def random_state(robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions within limits, and velocities."""
    rng = np.random.default_rng(seed)
    joints = robot.joints
    q = rng.uniform(joints.lower, joints.upper)
    return q, rng.normal(size=len(q))


def posed(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The robot in this joint state, its base at rest at home."""
    model = robot.model()
    data = mujoco.MjData(model)
    for name, angle, rate in zip(robot.joints.names, q, v, strict=True):
        data.joint(name).qpos[0], data.joint(name).qvel[0] = angle, rate
    mujoco.mj_forward(model, data)
    return model, data


def base_at(robot: Robot, q: np.ndarray, v: np.ndarray, clamped: mujoco.MjData, link: str):
    """The free robot in the clamped one's pose, its base moving so that the link is at rest."""
    model, data = posed(robot, q, v)
    root = clamped.body(robot.root)
    data.qpos[:3], data.qpos[3:7] = root.xpos, root.xquat
    mujoco.mj_forward(model, data)
    jacobian = np.zeros((6, model.nv))
    mujoco.mj_jacBody(model, data, jacobian[:3], jacobian[3:], model.body(link).id)
    data.qvel[:6] = -np.linalg.solve(jacobian[:, :6], jacobian[:, 6:] @ data.qvel[6:])
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.parametrize(("name", "mount", "link"), CASES)
def test_clamping_a_link_keeps_every_relative_pose(name, mount, link):
    """With the same q, links stand to each other as on the free robot, to 1e-12."""
    robot = Robot.load(name, mount="free")
    q, v = random_state(robot, 0)
    _, free = posed(robot, q, v)
    _, clamped = posed(robot.with_mount(mount), q, v)
    for other in robot.links:
        relative = []
        for data in (free, clamped):
            turn = data.body(link).xmat.reshape(3, 3).T
            shift = turn @ (data.body(other).xpos - data.body(link).xpos)
            relative.append(np.r_[shift, (turn @ data.body(other).xmat.reshape(3, 3)).ravel()])
        np.testing.assert_allclose(*relative, atol=1e-12)


@pytest.mark.parametrize(("name", "mount", "link"), CASES)
def test_clamping_a_link_keeps_kinetic_and_potential_energy(name, mount, link):
    """Equal energies at random states are equal Lagrangians, hence equal dynamics."""
    robot = Robot.load(name, mount="free")
    for seed in range(3):
        q, v = random_state(robot, seed)
        model_c, clamped = posed(robot.with_mount(mount), q, v)
        model_f, free = base_at(robot, q, v, clamped, link)
        for model, data in ((model_c, clamped), (model_f, free)):
            mujoco.mj_energyPos(model, data)
            mujoco.mj_energyVel(model, data)
        # Potential energy is of all bodies, and the clamped link is at one place in both.
        np.testing.assert_allclose(clamped.energy, free.energy, rtol=1e-9, atol=1e-8)


def test_clamped_foot_moves_like_a_free_robot_welded_to_the_world():
    """0.2 s of simulation agree with a stiff weld of the same foot."""
    robot = Robot.load("g1", mount="free")
    foot = robot.link_groups["feet"][0]
    clamped = robot.with_mount("left_foot").model()
    spec = robot.spec()
    spec.delete(spec.geom("floor"))
    weld = spec.add_equality(name="weld", type=mujoco.mjtEq.mjEQ_WELD)
    weld.objtype, weld.name1, weld.name2 = mujoco.mjtObj.mjOBJ_BODY, foot, "world"
    data = mujoco.MjData(clamped)
    mujoco.mj_resetDataKeyframe(clamped, data, 0)
    mujoco.mj_forward(clamped, data)
    pose = data.body(foot)
    inverse = np.zeros(3), np.zeros(4)
    mujoco.mju_negPose(*inverse, pose.xpos, pose.xquat)
    weld.data[:11] = [0, 0, 0, *inverse[0], *inverse[1], 1]
    weld.solref[:], weld.solimp[:3] = [0.004, 1], [0.999, 0.9999, 0.001]
    welded = spec.compile()
    other = mujoco.MjData(welded)
    mujoco.mj_resetDataKeyframe(welded, other, 0)
    for _ in range(100):
        mujoco.mj_step(clamped, data)
        mujoco.mj_step(welded, other)
    for name in robot.joints.names:
        assert abs(data.joint(name).qpos[0] - other.joint(name).qpos[0]) < 2e-3
    assert np.abs(data.qvel).max() > 0.05


def test_clamped_link_stays_where_it_stands_at_home():
    """The clamp holds the foot flat at the place where the standing robot has it."""
    robot = Robot.load("g1")
    _, standing = posed(robot, robot.joints.default, np.zeros(len(robot.joints)))
    _, clamped = posed(
        robot.with_mount("right_foot"), robot.joints.default, np.zeros(len(robot.joints))
    )
    for link in ("right_ankle_roll_link", "pelvis"):
        np.testing.assert_allclose(standing.body(link).xpos, clamped.body(link).xpos, atol=1e-9)
    upright = clamped.body("right_ankle_roll_link").xmat.reshape(3, 3)[2, 2]
    assert upright > 1 - 1e-6


def test_only_the_free_mount_has_a_floor_and_a_free_joint():
    """Fixed and clamped robots hang in empty space."""
    for mount in ("fixed", "left_foot"):
        model = Robot.load("g1", mount=mount).model()
        assert model.nq == 29
        assert "floor" not in [model.geom(i).name for i in range(model.ngeom)]


def test_unknown_mount_is_refused():
    """A mount that is no link names the nearest one."""
    with pytest.raises(NameMismatchError, match=r"left_ankel.*left_ankle"):
        Robot.load("g1", mount="left_ankel_roll_link")
