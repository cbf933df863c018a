"""Worlds by name: ENGINE, or ENGINE:PRESET[:UNIT] for a hidden robot, such as physx:hard:2."""

from __future__ import annotations

from gapless.errors import DataError, unknown
from gapless.robots import Robot
from gapless.worlds.hidden.hidden_world import ENGINES, HiddenWorld
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import World

FORM = "ENGINE[:PRESET[:UNIT]], e.g. mujoco, physx, physx:typical or physx:hard:2"


def world_of(text: str, robot: Robot, physics_step: float = 0.002) -> World:
    """The world that a text names.

    Args:
        text: see FORM; the unit is 1 where it is not said.
        robot: in it; of a hidden robot the nominal one.
        physics_step: longest physics step, s.
    """
    engine, *hidden = text.split(":")
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if len(hidden) > 2:
        raise DataError(f"world {text!r} is not understood; expected {FORM}")
    if hidden:
        preset, unit = hidden[0], _unit(hidden[1:], text)
        return HiddenWorld(robot, preset, unit, engine=engine, physics_step=physics_step)
    if engine == "physx":
        from gapless.worlds.physx import PhysxWorld

        return PhysxWorld(robot, physics_step=physics_step)
    return MujocoWorld(robot, physics_step=physics_step)


def _unit(given: list[str], text: str) -> int:
    if not given:
        return 1
    if not given[0].isdecimal() or int(given[0]) < 1:
        raise DataError(f"world {text!r}: the unit is {given[0]!r}; expected 1 or more. {FORM}")
    return int(given[0])
