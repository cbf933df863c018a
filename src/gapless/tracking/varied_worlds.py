"""Worlds that differ as a robust training wants: by ASAP's Table VI, or within intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.corrections import CorrectedWorld
from gapless.errors import DataError
from gapless.identification import Calibration
from gapless.robots import Robot
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World

FRICTION, STIFFNESS, DELAY = (0.2, 1.1), (0.925, 1.05), (0.02, 0.04)
"""ASAP's Table VI: floor friction, share of kp, delay of commands in s."""


def varied_world(world: World, count: int, seed: int = 0) -> MixedWorld:
    """Worlds that differ in floor friction, stiffness and delay, as in ASAP's Table VI."""
    if not isinstance(world, EngineWorld):
        raise DataError("only the simulator of a robot can be varied, not a hidden robot or a run")
    rng = np.random.default_rng([seed, 6])
    return MixedWorld([_varied(world, rng) for _ in range(count)])


def _varied(world: EngineWorld, rng: np.random.Generator) -> World:
    robot, effects = world.robot, world.effects
    floor = replace(robot.floor, friction=float(rng.uniform(*FRICTION)))
    stiff = rng.uniform(*STIFFNESS, len(robot.joints.names))
    changed = _stiffened(robot.with_floor(floor), stiff)
    late = np.full(len(robot.joints.names), rng.uniform(*DELAY))
    return world.variant(robot=changed, effects=replace(effects, delay=late))


def _stiffened(robot: Robot, shares: np.ndarray) -> Robot:
    """Drives that make so much of every stiffness: of the robot's own, and of a policy's."""
    errors = {j: robot.gain_errors.get(j, (1.0, 1.0)) for j in robot.joints.names}
    made = {
        j: (s * kp, kd) for s, (j, (kp, kd)) in zip(shares.tolist(), errors.items(), strict=True)
    }
    return replace(robot.with_joints(kp=robot.joints.kp * shares), gain_errors=made)


def world_within(calibration: Calibration, world: World, count: int, seed: int = 0) -> MixedWorld:
    """Worlds whose identified parameters are drawn from their joint uncertainty.

    Args:
        calibration: what was identified.
        world: of the nominal robot.
        count: how many worlds.
        seed: of what is drawn.
    """
    rng = np.random.default_rng([seed, 7])
    drawn = [calibration.sample(rng) for _ in range(count)]
    return MixedWorld([CorrectedWorld(world, found) for found in drawn])
