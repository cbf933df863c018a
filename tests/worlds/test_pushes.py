"""A push adds to the velocity of a base, and to nothing else, in every world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gapless.corrections import CorrectedWorld
from gapless.errors import SimulationError
from gapless.robots import Robot
from gapless.robots.rotations import conj, rotate
from gapless.worlds import Effects, HiddenWorld, MujocoWorld, World
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.hidden.true_state import true_state

SPIN, SPEED = "base_ang_vel_b", "base_lin_vel_w"
PUSH = np.array([[0.4, -0.3, 0.1]])
REMEMBERING = Effects(delay=0.013, jitter=0.004, backlash=0.01, heating=2.0, heat_loss=0.002)


@pytest.fixture(scope="module")
def dog() -> Robot:
    """A Go2 on the floor: it stands by itself."""
    return Robot.load("go2", mount="free")


def mujoco(robot: Robot) -> EngineWorld:
    """With delays and motors that remember."""
    return MujocoWorld(robot, effects=REMEMBERING)


def physx(robot: Robot) -> EngineWorld:
    """The same in the other engine, where it is installed."""
    pytest.importorskip("sapien", reason="needs the extra: pip install 'gapless[physx]'")
    from gapless.worlds.physx import PhysxWorld

    return PhysxWorld(robot, effects=REMEMBERING)


def stood(world: Any, environments: int = 3, steps: int = 10) -> None:
    """Environments that have stood for a while."""
    world.reset(world.home(environments))
    for _ in range(steps):
        world.step(np.tile(world.robot.joints.default, (environments, 1)))


def stepped(world: World, environments: int = 3, steps: int = 5) -> dict[str, np.ndarray]:
    """What a few more steps give."""
    pose = np.tile(world.robot.joints.default, (environments, 1))
    return [world.step(pose) for _ in range(steps)][-1].fields


@pytest.mark.parametrize("make", [mujoco, physx])
@pytest.mark.parametrize("which", [np.array([1]), np.array([False, True, False])])
def test_only_the_pushed_base_is_faster(
    dog: Robot, make: Callable[[Robot], EngineWorld], which: np.ndarray
) -> None:
    """At once; the others go on to the bit, and the pushed one goes where it was pushed."""
    world, left = make(dog), make(dog)
    for each in (world, left):
        stood(each)
    before = world.state
    world.push(PUSH, which)
    for name, array in world.state.fields.items():
        change = np.zeros_like(array)
        change[1] = PUSH[0] if name == "base_lin_vel_w" else 0.0
        np.testing.assert_array_equal(array, before.fields[name] + change)
    after, otherwise = stepped(world), stepped(left)
    for name, array in after.items():
        np.testing.assert_array_equal(array[[0, 2]], otherwise[name][[0, 2]])
    went = after["base_pos"][1] - otherwise["base_pos"][1]
    assert went[0] > 0.01
    assert went[1] < -0.01


@pytest.mark.parametrize("make", [mujoco, physx])
def test_a_push_by_nothing_changes_nothing(
    dog: Robot, make: Callable[[Robot], EngineWorld]
) -> None:
    """Clocks, delays, chance, motors and contacts go on, to the bit."""
    world, left = make(dog), make(dog)
    for each in (world, left):
        stood(each)
    world.push(np.zeros((3, 3)))
    otherwise = stepped(left)
    for name, array in stepped(world).items():
        np.testing.assert_array_equal(array, otherwise[name])


@pytest.mark.parametrize("make", [mujoco, physx])
def test_a_push_before_the_first_step_is_a_faster_start(
    dog: Robot, make: Callable[[Robot], EngineWorld]
) -> None:
    """In flight, both engines carry it on: the base moves by it."""
    world = make(dog)
    start = world.home()
    assert start.base_pos is not None
    start.base_pos[:, 2] = 20.0
    world.reset(start)
    world.push(PUSH)
    world.step(dog.joints.default[None])
    world.push(-2 * PUSH)
    moved = world.step(dog.joints.default[None]).base_pos
    assert moved is not None
    assert moved[0, :2] == pytest.approx(np.zeros(2), abs=2e-4)


@pytest.mark.parametrize("make", [mujoco, physx])
def test_a_push_may_turn_the_base(dog: Robot, make: Callable[[Robot], EngineWorld]) -> None:
    """In its own frame and about its origin, whichever way it lies; both engines carry it on."""
    world, spin = make(dog), np.array([0.0, 0.0, 2.0])
    start = world.home()
    assert start.base_pos is not None and start.base_quat_wxyz is not None
    start.base_pos[:, 2], start.base_quat_wxyz[:] = 20.0, [0.5**0.5, 0.5**0.5, 0.0, 0.0]
    world.reset(start)
    seen = [world.step(dog.joints.default[None])]
    world.push(np.r_[np.zeros(3), spin][None])
    seen += [world.step(dog.joints.default[None]) for _ in range(2)]
    rates, speeds = (np.stack([getattr(s, n)[0] for s in seen]) for n in (SPIN, SPEED))
    assert rates[1] == pytest.approx(spin, abs=0.1)
    assert speeds[1, :2] == pytest.approx(np.zeros(2), abs=0.05)  # its origin stays
    turned = rotate(conj(seen[0].base_quat_wxyz), rotate(seen[2].base_quat_wxyz, np.eye(3)[[0]]))
    assert turned[0] == pytest.approx([1.0, 2 * 2.0 / world.rate, 0.0], abs=0.01)


def test_a_hidden_robot_is_pushed_where_it_is(dog: Robot) -> None:
    """Not where its noisy log has it: all but the velocity stays, to the bit."""
    world = HiddenWorld(dog, "hard")
    stood(world)
    before = true_state(world)
    world.push(np.repeat(PUSH, 2, axis=0), np.array([0, 2]))
    after = true_state(world)
    faster = after.base_lin_vel_w - before.base_lin_vel_w  # type: ignore[operator]
    assert faster == pytest.approx(PUSH * [[1], [0], [1]], abs=1e-12)
    for name in ("q", "dq", "base_pos", "base_quat_wxyz", "base_ang_vel_b"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))


def test_a_corrected_world_sees_the_push(dog: Robot) -> None:
    """What its corrections look at next has the new velocity, and so has the world underneath."""
    world = CorrectedWorld(MujocoWorld(dog))
    stood(world)
    before = world._state
    world.push(PUSH, np.array([1]))
    assert before is not None and world._state is not None
    faster = world._state.base_lin_vel_w - before.base_lin_vel_w  # type: ignore[operator]
    assert faster == pytest.approx(PUSH * [[0], [1], [0]], abs=1e-12)
    under = world.world.state.base_lin_vel_w  # type: ignore[attr-defined]
    np.testing.assert_array_equal(under, world._state.base_lin_vel_w)
    assert isinstance(world, World)


def test_a_diverged_environment_is_not_pushed(dog: Robot) -> None:
    """It stays as it was when it was marked."""
    world = MujocoWorld(dog)
    start = world.home(2)
    start.dq[0] = 1e7
    world.reset(start)
    world.step(np.tile(dog.joints.default, (2, 1)))
    assert world.health.diverged.tolist() == [True, False]
    before = world.state.base_lin_vel_w
    world.push(np.repeat(PUSH, 2, axis=0))
    faster = world.state.base_lin_vel_w - before  # type: ignore[operator]
    assert faster == pytest.approx(PUSH * [[0], [1]], abs=1e-12)


@pytest.mark.parametrize(
    "kind", [MujocoWorld, HiddenWorld, lambda r: CorrectedWorld(MujocoWorld(r))]
)
def test_only_a_free_base_can_be_pushed(arms: Robot, kind: Callable[[Robot], World]) -> None:
    """A fixed robot is refused by its mount."""
    world = kind(arms)
    world.reset(world.home())
    with pytest.raises(SimulationError, match=r"'fixed'.*only a free base"):
        world.push(PUSH)


@pytest.mark.parametrize("velocity", [np.zeros(3), np.zeros((2, 3)), np.full((3, 3), np.nan)])
def test_a_push_must_fit(dog: Robot, velocity: np.ndarray) -> None:
    """One finite velocity for each environment that is pushed."""
    world = MujocoWorld(dog)
    world.reset(world.home(3))
    with pytest.raises(SimulationError, match=r"expected \(3, 3\) finite"):
        world.push(velocity)
