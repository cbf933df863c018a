"""Worlds by name: every form, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapless.errors import DataError, NameMismatchError
from gapless.robots import Robot
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.named_worlds import world_of
from pendulum import pendulum


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    """One joint is enough."""
    return pendulum(tmp_path)


def test_an_engine_is_the_robot_in_it(robot: Robot) -> None:
    """With the physics step that was asked for."""
    world = world_of("mujoco", robot, 0.005)
    assert isinstance(world, MujocoWorld) and world.robot is robot
    assert world.identity.timestep == 0.005
    assert world_of("mujoco", robot).identity.timestep == 0.002


@pytest.mark.parametrize("text", ["mujoco:hard", "mujoco:hard:1", "mujoco:mild:3"])
def test_a_preset_is_a_hidden_robot(text: str, robot: Robot) -> None:
    """Unit 1 where none is said; the same as made by hand."""
    world, (_, preset, *unit) = world_of(text, robot, 0.004), text.split(":")
    wanted = HiddenWorld(robot, preset, int(unit[0]) if unit else 1, physics_step=0.004)
    assert isinstance(world, HiddenWorld) and world.robot is robot
    assert world.identity == wanted.identity
    assert world.identity != world_of("mujoco:hard:2", robot, 0.004).identity


@pytest.mark.parametrize(("text", "kind"), [("physx", "PhysxWorld"), ("physx:hard:2", "Hidden")])
def test_the_other_engine(text: str, kind: str) -> None:
    """Where it is installed."""
    pytest.importorskip("sapien", reason="needs the extra: pip install 'gapless[physx]'")
    world = world_of(text, Robot.load("so101"), 0.005)
    assert type(world).__name__.startswith(kind)
    assert world.identity.engine == "physx"


WRONG = {
    "": (NameMismatchError, "unknown engine ''"),
    "mujco": (NameMismatchError, "unknown engine 'mujco'. Did you mean 'mujoco'"),
    "mujoco:hrad": (NameMismatchError, "unknown preset 'hrad'. Did you mean 'hard'"),
    "mujoco:": (NameMismatchError, "unknown preset ''"),
    "mujoco:hard:two": (DataError, "the unit is 'two'; expected 1 or more"),
    "mujoco:hard:0": (DataError, "the unit is '0'"),
    "mujoco:hard:-1": (DataError, "the unit is '-1'"),
    "mujoco:hard:": (DataError, "the unit is ''"),
    "mujoco:hard:1:2": (DataError, r"is not understood; expected ENGINE\[:PRESET\[:UNIT\]\]"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_understood_is_told(text: str, robot: Robot) -> None:
    """With the nearest right word, or the form."""
    kind, told = WRONG[text]
    with pytest.raises(kind, match=told):
        world_of(text, robot)
