"""Slopes and steps: what stands on them stands there, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from gapless.robots import Floor, Robot
from gapless.robots.rotations import rotate
from gapless.worlds import HiddenWorld, MujocoWorld, State
from gapless.worlds.engine_world import EngineWorld

SLOPE = float(np.radians(3))
STAIRS = Floor(step_height=0.1, step_depth=0.4)
ON_FIRST_STEP = np.array([0.7, 0.0, 0.1])


@pytest.fixture(scope="module")
def g1() -> Robot:
    """A G1 that stands free."""
    return Robot.load("g1", mount="free")


def physx(robot: Robot) -> EngineWorld:
    """A PhysX world, where it is installed."""
    pytest.importorskip("sapien", reason="needs the extra: pip install 'gapless[physx]'")
    from gapless.worlds.physx import PhysxWorld

    return PhysxWorld(robot)


ENGINES = pytest.mark.parametrize("make", [MujocoWorld, physx])
Make = Callable[[Robot], EngineWorld]


def above(robot: Robot, state: State, geom: str) -> float:
    """Distance of the robot's nearest shape from a part of the floor, m; negative is inside."""
    assert state.base_pos is not None and state.base_quat_wxyz is not None
    model = robot.model()
    data = mujoco.MjData(model)
    data.qpos[:7] = [*state.base_pos[0], *state.base_quat_wxyz[0]]
    for name, angle in zip(robot.joints.names, state.q[0], strict=True):
        data.joint(name).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    part, solids = model.geom(geom).id, np.flatnonzero(model.geom_conaffinity)
    return min(mujoco.mj_geomDistance(model, data, part, int(g), 2.0, None) for g in solids)


def stood(world: EngineWorld, start: State, seconds: float = 0.3) -> list[State]:
    """The states of a robot that is told to keep its pose."""
    pose = np.tile(world.robot.joints.default, (1, round(seconds * world.rate), 1))
    played = world.rollout(start, pose)
    assert played.valid.all()
    return [played.at(t) for t in range(played.q.shape[1])]


@ENGINES
@pytest.mark.parametrize("heading", [0.0, 1.0, np.pi])
def test_a_robot_stands_on_a_slope(g1: Robot, make: Make, heading: float) -> None:
    """Upright, the lowest point of its feet on the floor; it neither sinks in nor lifts off."""
    robot = g1.with_floor(Floor(slope=SLOPE, slope_heading=heading))
    world = make(robot)
    assert above(robot, world.home(), "floor") == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(world.home().base_quat_wxyz, [[1.0, 0.0, 0.0, 0.0]])
    heights = [above(robot, state, "floor") for state in stood(world, world.home())]
    assert min(heights) > -5e-3
    assert abs(heights[-1]) < 1e-3


@ENGINES
def test_a_slope_rises_where_it_heads(g1: Robot, make: Make) -> None:
    """A robot further that way stands higher by the slope; it would fall without a floor there."""
    robot = g1.with_floor(Floor(slope=SLOPE, slope_heading=np.pi / 2))
    world = make(robot)
    uphill = np.array([0.0, 2.0, 2 * np.tan(SLOPE)])
    up = replace(world.home(), base_pos=world.home().base_pos + uphill)  # type: ignore[operator]
    assert above(robot, up, "floor") == pytest.approx(0.0, abs=1e-9)
    assert abs(above(robot, stood(world, up)[-1], "floor")) < 1e-3


@ENGINES
@pytest.mark.parametrize("slope", [0.0, SLOPE])
def test_feet_rest_on_the_first_step(g1: Robot, make: Make, slope: float) -> None:
    """A step is as high as it was set, above a slope as above a level floor."""
    robot = g1.with_floor(replace(STAIRS, slope=slope))
    world = make(robot)
    home = world.home()
    assert home.base_pos is not None
    on = home.base_pos + rotate(robot.floor.quat_wxyz, ON_FIRST_STEP)
    end = stood(world, replace(home, base_pos=on))[-1]
    assert abs(above(robot, end, "floor_step_1")) < 1e-3
    assert above(robot, end, "floor") == pytest.approx(0.1, abs=1e-3)
    assert above(robot, end, "floor_step_2") > 0.05


@ENGINES
def test_stairs_do_not_touch_a_robot_at_home(g1: Robot, make: Make) -> None:
    """They begin in front of it: standing is as on a floor without them."""
    stairs, level = make(g1.with_floor(STAIRS)), make(g1)
    seen = [stood(world, world.home())[-1] for world in (stairs, level)]
    assert above(stairs.robot, stairs.home(), "floor_step_1") > 0.2
    assert seen[0].q == pytest.approx(seen[1].q, abs=1e-6)


def test_a_hidden_robot_stands_on_the_same_shape(g1: Robot) -> None:
    """Its floor differs in friction and softness, not in slope and steps."""
    robot = g1.with_floor(replace(STAIRS, slope=SLOPE, slope_heading=1.0))
    hidden = HiddenWorld(robot, "hard")._inner.robot.floor
    assert hidden.shape == robot.floor.shape
    assert hidden.friction < robot.floor.friction
