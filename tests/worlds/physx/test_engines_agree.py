"""PhysX against MuJoCo: the same motion where nothing touches, another one on the floor."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.robots import Floor, Payload, Robot
from gapless.worlds import Effects, MujocoWorld, State, Trajectory

pytest.importorskip("sapien", reason="needs the extra: pip install 'gapless[physx]'")

from gapless.worlds.physx import PhysxWorld

SAME = 1e-5  # rad
UNHINDERED = {"frictionloss": 0.0, "lower": -np.inf, "upper": np.inf}
"""Without what the engines do differently: MuJoCo's limits are soft and its friction is a
constraint."""


@pytest.fixture(scope="module")
def g1() -> Robot:
    """All 29 joints, pelvis fixed."""
    return Robot.load("g1", mount="fixed").with_joints(**UNHINDERED)


def both(
    robot: Robot, seconds: float = 1.0, effects: Effects | None = None, **options: object
) -> tuple[Trajectory, Trajectory]:
    """One motion in MuJoCo and in PhysX."""
    targets = multisine(robot, seconds, 50, seed=1)[None]
    worlds = MujocoWorld(robot, effects=effects), PhysxWorld(robot, effects=effects)
    start = options.pop("start", worlds[0].home())
    return tuple(w.rollout(start, targets, **options) for w in worlds)  # type: ignore[return-value, arg-type]


def apart(pair: tuple[Trajectory, Trajectory]) -> float:
    """The largest difference of any joint at any time, rad."""
    return float(np.abs(pair[0].q - pair[1].q).max())


def test_fixed_pelvis_agrees(g1: Robot) -> None:
    """Two seconds of all joints: the same angles and the same torques."""
    mujoco, physx = both(g1, seconds=2.0)
    assert np.ptp(mujoco.q[0], axis=0).min() > 0.05
    assert apart((mujoco, physx)) < SAME
    np.testing.assert_allclose(physx.torque[:, 1:], mujoco.torque[:, 1:], atol=1e-3)  # type: ignore[index]


@pytest.mark.parametrize(
    "change",
    [{"damping": 1.0}, {"effort": 3.0}, {"armature": 0.05}],
    ids=["viscous friction", "torque limits", "armature"],
)
def test_joint_figures_act_alike(g1: Robot, change: dict[str, float]) -> None:
    """Viscous friction, a motor at its limit and rotor inertia mean the same in both."""
    # Half a second: a robot too weak to hold itself falls, and rounding grows with the fall.
    changed = both(g1.with_joints(**change), seconds=0.5)
    assert apart(changed) < SAME
    assert apart((changed[0], both(g1, seconds=0.5)[0])) > 1e-3


def test_h1_2_arms_agree() -> None:
    """Another robot, its legs welded."""
    arms = Robot.load("h1_2", mount="fixed", lock=["legs"]).with_joints(**UNHINDERED)
    assert apart(both(arms)) < SAME


def test_clamped_foot_agrees() -> None:
    """The tree grows from another link, its joints turned round."""
    clamped = Robot.load("g1", mount="left_foot").with_joints(**UNHINDERED)
    assert apart(both(clamped)) < SAME


def test_conditions_agree_per_copy(arms: Robot) -> None:
    """Each environment carries its own load with its own gains."""
    robot = arms.with_joints(**UNHINDERED)
    hand = robot.end_effectors[0].body
    conditions = [
        Conditions(),
        Conditions(payloads={hand: Payload(2.0, com=(0.05, 0.0, 0.02))}),
        Conditions(gains={"left_elbow_joint": (40.0, 2.0)}),
    ]
    mujoco, physx = MujocoWorld(robot), PhysxWorld(robot)
    targets = np.repeat(multisine(robot, 1.0, 50, seed=1)[None], 3, axis=0)
    expected = mujoco.rollout(mujoco.home(3), targets, conditions=conditions)
    played = physx.rollout(physx.home(3), targets, conditions=conditions)
    assert apart((expected, played)) < SAME
    assert np.abs(played.q[1:] - played.q[:1]).max(axis=(1, 2)).min() > 0.01


@pytest.mark.parametrize(
    "effects",
    [
        Effects(delay=0.013, encoder_bias=0.05),
        Effects(corner_speed=1.0, no_load_speed=4.0),
        Effects(backlash=0.02, compliance=0.002),
        Effects(heating=50.0, heat_loss=0.01, jitter=0.005),
    ],
    ids=["delay and bias", "torque-speed limit", "play and flex", "heat and jitter"],
)
def test_effects_act_alike(arms: Robot, effects: Effects) -> None:
    """The torque path is shared, so an effect is the same in both engines."""
    assert apart(both(arms.with_joints(**UNHINDERED), effects=effects)) < SAME


@pytest.mark.parametrize(
    "effects",
    [
        Effects(),
        Effects(stribeck_torque=1.0, load_friction=0.1),
        Effects(load_friction=0.05, backdrive_friction=0.1, quadratic_friction=0.005),
    ],
    ids=["Coulomb", "Stribeck and load", "backdriven and quadratic"],
)
def test_dry_friction_is_close(effects: Effects) -> None:
    """MuJoCo's dry friction is a soft constraint, PhysX's a bounded drive: near, not equal."""
    rough = Robot.load("h1_2", mount="fixed").with_joints(lower=-np.inf, upper=np.inf)
    mujoco, physx = both(rough, effects=effects)
    smooth = both(rough.with_joints(frictionloss=0.0))[0]
    assert apart((mujoco, physx)) < min(2e-3, 0.25 * apart((mujoco, smooth)))


def test_a_thrown_robot_flies_alike() -> None:
    """Root velocities mean the root's origin and frame, though PhysX has the centre of mass."""
    robot = Robot.load("g1", mount="free").with_joints(**UNHINDERED)
    start = replace(
        MujocoWorld(robot).home(),
        base_pos=np.array([[0.0, 0.0, 20.0]]),
        base_quat_wxyz=np.array([[0.5, 0.5, -0.5, 0.5]]),
        base_lin_vel_w=np.array([[1.0, -2.0, 3.0]]),
        base_ang_vel_b=np.array([[2.0, -1.0, 3.0]]),
    )
    mujoco, physx = both(robot, seconds=0.5, start=start)
    first = physx[:, 0]
    for name in ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b"):
        np.testing.assert_array_equal(getattr(first, name), getattr(start, name))
    for name, near in (("base_pos", 1e-3), ("base_quat_wxyz", 2e-3), ("base_lin_vel_w", 5e-3)):
        np.testing.assert_allclose(getattr(physx, name), getattr(mujoco, name), atol=near)
    np.testing.assert_allclose(physx.base_ang_vel_b, mujoco.base_ang_vel_b, atol=0.03)  # type: ignore[arg-type]


def test_engines_differ_on_the_floor() -> None:
    """Contact is where the engines part: by millimetres in a second, not by decimetres."""
    mujoco, physx = both(Robot.load("g1", mount="free"))
    distance = np.linalg.norm(mujoco.base_pos - physx.base_pos, axis=-1)[0]  # type: ignore[operator]
    assert 1e-3 < distance[-1] < 0.1
    assert physx.valid.all()


def test_floor_friction_is_the_models() -> None:
    """A robot sliding on its feet goes as far as in MuJoCo, given the floor's coefficient."""
    robot = Robot.load("g1", mount="free")
    home = MujocoWorld(robot).home()
    start: State = replace(home, base_lin_vel_w=np.array([[0.5, 0.0, 0.0]]))
    mujoco, physx = both(robot, seconds=0.2, start=start)
    went = [float(w.base_pos[0, -1, 0]) for w in (mujoco, physx)]  # type: ignore[index]
    assert went[1] == pytest.approx(went[0], abs=0.01)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.05, -0.1)])
def test_an_arm_rests_on_its_table(tilt: tuple[float, float]) -> None:
    """Sent below the plane, it stays on it in both engines; without one it goes through."""
    arm = Robot.load("so101", mount="fixed")
    table = arm.with_floor(Floor(height=-0.05).tilted(*tilt))
    model = table.model()
    targets = np.tile(arm.joints.default, (1, 150, 1))
    targets[:, 30:, 1] = 0.9  # the shoulder, down
    for kind in (MujocoWorld, PhysxWorld):
        deep = [
            deepest(model, world.rollout(world.home(), targets).q[0, -1])
            for world in (kind(table), kind(arm))
        ]
        assert -0.002 < deep[0] < 0.001
        assert deep[1] < -0.02


def deepest(model: mujoco.MjModel, q: np.ndarray) -> float:
    """Distance of an arm's lowest point from its table, m; 0.001 where they do not touch."""
    data = mujoco.MjData(model)
    model.geom_margin[:] = 0.001
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    return float(data.contact.dist.min(initial=0.001))
