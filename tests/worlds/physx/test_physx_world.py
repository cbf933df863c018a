"""The promises of PhysxWorld: fresh scenes, steps like rollouts, marks and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gapless.errors import MissingExtraError, ModelError, SimulationError
from gapless.motions.excitation import multisine
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds import Effects, MujocoWorld, World
from gapless.worlds.engine_world import EngineWorld

pytest.importorskip("sapien", reason="needs the extra: pip install 'gapless[physx]'")

from gapless.worlds.physx import PhysxWorld
from gapless.worlds.physx.description import read_plan

ARM = """
<mujoco>
  <compiler angle="radian"/>
  {asset}
  <worldbody>
    <body name="base" pos="0 0 1">
      <inertial pos="0 0 0" mass="2" diaginertia="0.02 0.02 0.02"/>
      {geom}
      <body name="arm" pos="0 0 0.1">
        <joint name="swing" axis="0 1 0" {joint}/>
        <inertial pos="0.2 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
      </body>
    </body>
  </worldbody>
  {extra}
  <actuator><position joint="swing" kp="50" kv="5"/></actuator>
</mujoco>
"""


def own_model(folder: Path, mount: str = "fixed", **parts: str) -> Robot:
    """A small model of the user's own."""
    filled = {"asset": "", "geom": "", "joint": "", "extra": ""} | parts
    (folder / "arm.xml").write_text(ARM.format(**filled))
    return Robot.from_mjcf(folder / "arm.xml", mount=mount)


def motions(robot: Robot, environments: int = 2, seconds: float = 0.4) -> np.ndarray:
    """A different motion for each environment."""
    return np.stack([multisine(robot, seconds, 50, seed=s) for s in range(environments)])


@pytest.fixture(scope="module")
def standing() -> Robot:
    """A G1 on the floor, where contacts could be remembered."""
    return Robot.load("g1", mount="free")


def test_engines_are_siblings(standing: Robot) -> None:
    """What asks for MuJoCo's own means is not given PhysX; what both can do, both are asked."""
    fixed = replace(standing, mount="fixed")
    physx, mujoco = PhysxWorld(fixed), MujocoWorld(fixed)
    assert isinstance(physx, World)
    assert isinstance(physx, EngineWorld)
    assert isinstance(mujoco, EngineWorld)
    assert not isinstance(physx, MujocoWorld)
    assert type(physx.variant(rate=25)) is PhysxWorld
    assert type(mujoco.at_rate(25)) is MujocoWorld


def test_is_a_world(arms: Robot) -> None:
    """The protocol is met, and the identity tells the engine."""
    world = PhysxWorld(arms)
    assert isinstance(world, World)
    assert world.identity.engine == "physx"
    assert world.identity.version.endswith("(PhysX 5.3.1)")
    assert world.identity.integrator == "TGS 8/2"
    with pytest.raises(SimulationError, match="different simulators"):
        world.identity.require_same_simulator(MujocoWorld(arms).identity)


def test_same_inputs_same_bytes(standing: Robot) -> None:
    """Again, after another motion, in another batch or world: nothing is remembered."""
    world, targets = PhysxWorld(standing), motions(standing)
    first = world.rollout(world.home(2), targets)
    world.rollout(world.home(2), targets[::-1])
    again, other = world.rollout(world.home(2), targets), PhysxWorld(standing)
    alone = other.rollout(other.home(1), targets[1:])
    assert again.q.tobytes() == first.q.tobytes()
    assert again.base_pos.tobytes() == first.base_pos.tobytes()  # type: ignore[union-attr]
    assert alone.q.tobytes() == first.q[1:].tobytes()


def test_blocks_of_copies_have_no_seam(arms: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout in blocks equals one side by side, and unequal sizes are still refused."""
    world, targets = PhysxWorld(arms, effects=Effects(jitter=0.005)), motions(arms, 3, 0.2)
    conditions = [Conditions(), Conditions(gains={"left_elbow_joint": (40.0, 2.0)}), Conditions()]
    whole = world.rollout(world.home(3), targets, conditions=conditions)
    monkeypatch.setattr("gapless.worlds.physx.physx_world.SCENES_AT_ONCE", 2)
    blocks = world.rollout(world.home(3), targets, conditions=conditions)
    assert blocks.q.tobytes() == whole.q.tobytes()
    assert blocks.valid.shape == whole.valid.shape
    with pytest.raises(SimulationError, match="2 conditions for 3 environments"):
        world.rollout(world.home(3), targets, conditions=conditions[:2])


@pytest.mark.parametrize("effects", [None, Effects(backlash=0.02, delay=0.013)])
def test_step_equals_rollout(standing: Robot, effects: Effects | None) -> None:
    """Stepping gives the states of a rollout, to the bit, contacts, delay and play included."""
    world, targets = PhysxWorld(standing, effects=effects), motions(standing)
    played = world.rollout(world.home(2), targets)
    world.reset(world.home(2))
    for t in range(targets.shape[1]):
        state = world.step(targets[:, t])
    np.testing.assert_array_equal(state.q, played.q[:, -1])
    np.testing.assert_array_equal(state.base_lin_vel_w, played.base_lin_vel_w[:, -1])  # type: ignore[index]


def test_reset_of_some_copies_builds_only_those(standing: Robot) -> None:
    """An environment that is reset goes as a new one; the other goes on."""
    world, targets = PhysxWorld(standing), motions(standing, seconds=0.2)
    played = world.rollout(world.home(2), np.concatenate([targets, targets], axis=1))
    world.reset(world.home(2))
    for t in range(10):
        world.step(targets[:, t])
    world.reset(world.home(1), which=np.array([False, True]))
    for t in range(10):
        state = world.step(targets[:, t])
    np.testing.assert_array_equal(state.q[0], played.q[0, 20])
    np.testing.assert_array_equal(state.q[1], played.q[1, 10])


def test_divergence_is_marked(arms: Robot) -> None:
    """One with absurd gains is marked and kept at its last good state; the other goes on."""
    unlimited = arms.with_joints(effort=np.inf, lower=-np.inf, upper=np.inf)
    wild = Conditions(gains={name: (1e9, 0.0) for name in arms.joints.names})
    world, targets = PhysxWorld(unlimited), motions(arms)
    played = world.rollout(world.home(2), targets, conditions=[Conditions(), wild])
    assert played.valid[0].all()
    assert not played.valid[1, 1:].any()
    world.reset(world.home(2), conditions=[Conditions(), wild])
    for t in range(3):
        state = world.step(targets[:, t])
    assert world.health.diverged.tolist() == [False, True]
    np.testing.assert_array_equal(state.q[1], arms.joints.default)


def test_where_none_lives_all_stand_still(standing: Robot) -> None:
    """A robot on the floor that diverged alone keeps its last good state, base and all."""
    world = PhysxWorld(standing)
    start = world.home()
    world.reset(start)
    world.step(start.q, np.full_like(start.q, 1e39))
    state = world.step(start.q)
    assert world.health.diverged.all()
    np.testing.assert_array_equal(state.q, start.q)
    np.testing.assert_array_equal(state.base_pos, start.base_pos)  # type: ignore[arg-type]


def test_joints_are_matched_by_name(standing: Robot) -> None:
    """PhysX orders joints by depth; each column still is the joint of that name."""
    robot = replace(standing, mount="fixed")
    world = PhysxWorld(robot)
    q = np.linspace(-0.01, 0.01, len(robot.joints.names)) + robot.joints.default
    played = world.rollout(replace(world.home(), q=q[None]), q[None, None])
    np.testing.assert_allclose(played.q[0, 1], q, atol=0.02)
    lifted = q.copy()
    lifted[robot.joints.index("left_elbow_joint")] += 0.3
    moved = world.rollout(replace(world.home(), q=q[None]), np.tile(lifted, (1, 10, 1)))
    change = np.abs(moved.q[0, -1] - q)
    assert robot.joints.names[int(change.argmax())] == "left_elbow_joint"


def test_a_start_beyond_a_limit_is_kept(standing: Robot) -> None:
    """A log may hold a joint beyond the model's limit; it is not thrown back."""
    robot = replace(standing, mount="fixed")
    world, knee = PhysxWorld(robot), robot.joints.index("left_knee_joint")
    q = world.home().q.copy()
    q[0, knee] = robot.joints.upper[knee] + 0.05
    played = world.rollout(replace(world.home(), q=q), np.repeat(q[:, None], 10, axis=1))
    assert np.abs(played.dq[0]).max() < 2.0
    assert played.q[0, :, knee].min() > robot.joints.upper[knee]


def test_limits_hold(standing: Robot) -> None:
    """A target beyond the limit stops there, harder than in MuJoCo."""
    robot = replace(standing, mount="fixed")
    world, elbow = PhysxWorld(robot), robot.joints.index("left_elbow_joint")
    target = world.home().q.copy()
    target[0, elbow] = robot.joints.upper[elbow] + 0.5
    played = world.rollout(world.home(), np.repeat(target[:, None], 50, axis=1))
    assert played.q[0, -1, elbow] == pytest.approx(robot.joints.upper[elbow], abs=2e-3)


def test_links_collide_only_when_asked() -> None:
    """An arm pressed against the body stops at it with self_collision, and else goes through."""
    robot = Robot.load("g1", mount="fixed").with_joints(lower=-np.inf, upper=np.inf)
    target = robot.joints.default.copy()
    target[robot.joints.index("left_shoulder_roll_joint")] = -1.0
    angles = []
    for collides in (False, True):
        world = PhysxWorld(replace(robot, self_collision=collides))
        played = world.rollout(world.home(), np.tile(target, (1, 50, 1)))
        angles.append(played.q[0, -1, robot.joints.index("left_shoulder_roll_joint")])
    assert angles[1] - angles[0] > 0.2


def test_a_joint_turns_more_than_once(tmp_path: Path) -> None:
    """An unlimited joint keeps counting, as in MuJoCo."""
    robot = own_model(tmp_path)
    turning = np.linspace(0, 12, 100)[None, :, None]
    mujoco, physx = MujocoWorld(robot), PhysxWorld(robot)
    expected = mujoco.rollout(mujoco.home(), turning).q
    np.testing.assert_allclose(physx.rollout(physx.home(), turning).q, expected, atol=1e-4)
    assert expected[0, -1, 0] > 10


@pytest.mark.parametrize(
    "geom",
    ['type="cylinder" size="0.1 0.05"', 'type="mesh" mesh="block"', 'type="box" size=".1 .1 .05"'],
    ids=["cylinder", "mesh", "box"],
)
def test_shapes_stand_on_the_floor(tmp_path: Path, geom: str) -> None:
    """A cylinder and a mesh are convex hulls: they rest where a box does."""
    corners = " ".join(
        f"{x} {y} {z}" for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)
    )
    robot = own_model(
        tmp_path,
        mount="free",
        geom=f"<geom {geom} mass='0'/>",
        asset=f'<asset><mesh name="block" vertex="{corners}"/></asset>',
    )
    world = PhysxWorld(robot)
    start = replace(world.home(), base_pos=np.array([[0.0, 0.0, 0.06]]))
    played = world.rollout(start, np.zeros((1, 50, 1)))
    assert played.base_pos[0, -1, 2] == pytest.approx(0.05, abs=2e-3)  # type: ignore[index]


def test_simple_feet_stand_where_all_shapes_do() -> None:
    """PhysX is told of the spheres, and of the shapes they stand for no longer."""
    robot = Robot.load("g1", mount="free")
    simple = robot.with_simple_feet()
    worlds = [PhysxWorld(r) for r in (robot, simple)]
    heights = []
    for world in worlds:
        played = world.rollout(world.home(), np.tile(robot.joints.default, (1, 15, 1)))
        assert played.valid.all()
        heights.append(played.base_pos[0, -1, 2])  # type: ignore[index]
    assert heights[1] == pytest.approx(heights[0], abs=1e-3)
    foot = next(k for k in read_plan(worlds[1].model).links if k.name == "left_ankle_roll_link")
    assert len(foot.solids) == 6
    assert worlds[0].identity.key != worlds[1].identity.key


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"extra": '<equality><joint name="coupled" joint1="swing"/></equality>'}, "'coupled'"),
        ({"joint": 'stiffness="3"'}, "spring on joint 'swing'"),
    ],
)
def test_what_cannot_be_represented_is_named(
    tmp_path: Path, parts: dict[str, str], named: str
) -> None:
    """A model is never simulated without a part of it."""
    with pytest.raises(ModelError, match=named):
        PhysxWorld(own_model(tmp_path, **parts))


def test_missing_extra_says_what_to_install(arms: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sapien the message is the command to type."""
    monkeypatch.setattr("gapless.worlds.physx.library.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"gapless\[physx\]"):
        PhysxWorld(arms)


def test_a_moved_robot_goes_on_from_where_it_was_put(so101: Robot) -> None:
    """A change of state, as a correction makes it, reaches the scene."""
    worlds = PhysxWorld(so101), MujocoWorld(so101)
    after = []
    for world in worlds:
        world.reset(world.home())
        state = world.step(world.home().q)
        moved = replace(state.start(), q=state.q + 0.3)
        world.place(moved)
        after.append(world.step(moved.q).q)
    np.testing.assert_allclose(after[0], after[1], atol=0.02)
