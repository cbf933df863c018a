"""Worlds on a scenario's floor."""

from __future__ import annotations

from gapless.corrections import CorrectedWorld
from gapless.errors import SimulationError
from gapless.evaluation.scenario import Scenario
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.hidden.hidden_world import HiddenWorld
from gapless.worlds.world import World


def in_scenario(world: World, scenario: Scenario) -> World:
    """The same world with the floor that a scenario asks for."""
    robot = scenario.floored(world.robot)
    if robot is world.robot:
        return world
    if isinstance(world, EngineWorld):
        return world.variant(robot=robot)
    if isinstance(world, HiddenWorld):
        return world.with_robot(robot)
    if isinstance(world, CorrectedWorld):
        # Corrections are learned on one floor, and judged on it; another is what one asks about.
        return world.on(in_scenario(world.world, scenario))
    raise SimulationError(f"a {type(world).__name__} cannot be put on another floor")
