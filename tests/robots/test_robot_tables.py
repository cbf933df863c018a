"""Every built-in robot compiles to the contract that worlds rely on."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from gapless.errors import NameMismatchError
from gapless.robots import Robot, names

# Joints and total mass (kg) as the published descriptions have them.
FIGURES = {
    "g1": (29, 33.341142),
    "g1_23dof": (23, 33.341142),
    "go2": (12, 15.206408),
    "h1_2": (27, 66.984),
    "kbot": (20, 35.649963),
    "kbot_legs": (10, 19.812727),
    "so101": (6, 0.632),
}


def at_home(model: mujoco.MjModel) -> mujoco.MjData:
    """The state of the key "home"."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    return data


def run(model: mujoco.MjModel, seconds: float) -> mujoco.MjData:
    """Hold the default pose for a while, and demand that MuJoCo has nothing to say."""
    data = at_home(model)
    for _ in range(round(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert not any(warning.number for warning in data.warning)
    assert np.isfinite(data.qpos).all()
    return data


def test_the_figures_below_cover_all_robots():
    """No robot is added without its joint count and mass being checked."""
    assert set(names()) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_count_and_mass_are_the_published_ones(name):
    """Nothing that weighs anything is lost on the way from the figures to the model."""
    joints, mass = FIGURES[name]
    robot = Robot.load(name)
    assert len(robot.joints) == joints
    np.testing.assert_allclose(robot.model().body_mass.sum(), mass, atol=1e-5)


@pytest.mark.parametrize("name", FIGURES)
def test_actuators_follow_the_robots_joint_order(name):
    """Actuator i is a PD controller of joint i, with explicit gains and limits."""
    robot = Robot.load(name, mount="free")
    model, joints = robot.model(), robot.joints
    assert tuple(model.actuator(i).name for i in range(model.nu)) == joints.names
    assert [model.joint(i).name for i in model.actuator_trnid[:, 0]] == list(joints.names)
    np.testing.assert_allclose(model.actuator_gainprm[:, 0], joints.kp)
    np.testing.assert_allclose(-model.actuator_biasprm[:, 1:3].T, [joints.kp, joints.kd])
    np.testing.assert_allclose(model.actuator_forcerange[:, 1], joints.effort)
    ids = [model.joint(j).id for j in joints.names]
    np.testing.assert_allclose(model.jnt_range[ids], np.stack([joints.lower, joints.upper], 1))
    dofs = model.jnt_dofadr[ids]
    np.testing.assert_allclose(model.dof_armature[dofs], joints.armature)
    np.testing.assert_allclose(model.dof_frictionloss[dofs], joints.frictionloss)


@pytest.mark.parametrize("name", FIGURES)
def test_free_mount_stands_on_the_floor(name):
    """The base is free, and at home the lowest shape touches the floor within 1 mm."""
    model = Robot.load(name, mount="free").model()
    assert model.joint(0).name == "root"
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert model.geom("floor").friction[0] == 1.0
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_AUTORESET
    data = at_home(model)
    floor = model.geom("floor").id
    gaps = [
        mujoco.mj_geomDistance(model, data, floor, geom, 1.0, None)
        for geom in range(model.ngeom)
        if geom != floor
    ]
    assert abs(min(gaps)) < 1e-3


@pytest.mark.parametrize("name", FIGURES)
def test_fixed_mount_holds_its_pose(name):
    """Half a second under gravity leaves every joint within its limits and its motors alive."""
    robot = Robot.load(name, mount="fixed")
    model = robot.model()
    assert model.nq == model.nu == len(robot.joints)
    data = run(model, 0.5)
    qpos = np.array([data.joint(j).qpos[0] for j in robot.joints.names])
    assert (qpos > robot.joints.lower - 0.05).all()
    assert (qpos < robot.joints.upper + 0.05).all()
    # Mjlab's waist gains are softer than the torso's own toppling moment, hence not "held".
    held = np.array(["waist" not in j for j in robot.joints.names])
    assert np.abs(qpos - robot.joints.default)[held].max() < 0.35


@pytest.mark.parametrize("name", ["g1", "g1_23dof", "go2", "h1_2", "kbot_legs"])
def test_feet_carry_the_robot_while_it_settles(name):
    """After a third of a second on the floor the feet carry the weight, and nothing explodes."""
    robot = Robot.load(name)
    data = run(robot.model(), 0.3)
    carried = data.qfrc_constraint[2] / (9.81 * robot.model().body_mass.sum())
    assert 0.3 < carried < 2.0
    assert abs(data.qpos[2] - robot.standing_height) < 0.1
    assert np.abs(data.qvel).max() < 10


@pytest.mark.parametrize("name", FIGURES)
def test_groups_and_points_name_what_exists(name):
    """Groups are not empty and hold only links, joints and points of the robot."""
    robot = Robot.load(name)
    points = {point.name for point in robot.tracking}
    known = ((robot.link_groups, robot.links), (robot.joint_groups, robot.joints.names))
    for groups, members in (*known, (robot.point_groups, points)):
        for group, entries in groups.items():
            assert set(entries) <= set(members), group
            assert entries or (name == "g1_23dof" and group == "wrists"), group
    assert all(p.body in robot.links for p in (*robot.tracking, *robot.end_effectors))


def test_asap_variant_has_its_published_order_gains_and_points():
    """23 joints, legs first, wrists welded at zero, 27 tracking points."""
    robot = Robot.load("g1_23dof")
    assert robot.joints.names[4:6] == ("left_ankle_pitch_joint", "left_ankle_roll_joint")
    assert robot.joints.names[12:15] == tuple(f"waist_{a}_joint" for a in ("yaw", "roll", "pitch"))
    assert list(robot.joints.kp[:6]) == [100, 100, 100, 200, 20, 20]
    assert set(robot.locked) == set(Robot.load("g1").joint_groups["wrists"])
    assert len(robot.tracking) == 27
    assert robot.point_groups["vr3"] == ("left_hand", "right_hand", "head")
    assert len(robot.point_groups["upper"]) + len(robot.point_groups["lower"]) == 27


def test_kbot_policy_signs_make_the_standing_pose_symmetric():
    """The policy's signs put both feet of the default pose at one height and pitch."""
    robot = Robot.load("kbot_legs", mount="fixed")
    model = robot.model()
    data = at_home(model)
    left, right = data.body("foot1"), data.body("foot3")
    assert abs(left.xpos[2] - right.xpos[2]) < 1e-3
    np.testing.assert_allclose(left.xmat.reshape(3, 3)[2], right.xmat.reshape(3, 3)[2], atol=1e-3)


def test_unknown_robot_is_answered_with_the_nearest():
    """A misspelt robot is refused with a suggestion and the list of those that exist."""
    with pytest.raises(NameMismatchError, match=r"'h1-2'.*Did you mean 'h1_2'.*so101"):
        Robot.load("h1-2")


def test_a_motor_turns_the_same_way_on_both_kbots():
    """Motor numbers of the leg tests mean the same axis in the world on either model."""
    axes = {}
    for name in ("kbot", "kbot_legs"):
        robot = Robot.load(name, mount="fixed")
        model = robot.model()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        motors = [f"actuator_{n}" for n in (*range(31, 36), *range(41, 46))]
        axes[name] = [a.sign * data.joint(a.joint).xaxis for a in robot.match(motors)]
    np.testing.assert_allclose(axes["kbot"], axes["kbot_legs"], atol=2e-3)


def test_g1_says_that_its_waist_sags():
    """Mjlab's waist gain is kept, and the robot's notes warn of it."""
    robot = Robot.load("g1")
    assert robot.joints.kp[robot.joints.index("waist_pitch_joint")] == 28.5
    assert any("sags" in note for note in robot.notes)
