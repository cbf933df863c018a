"""Worlds that differ as a robust training wants: by ASAP's Table VI, or within intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.corrections import CorrectedWorld
from gapless.errors import DataError
from gapless.robots import Robot
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.mixed_world import MixedWorld
from gapless.worlds.world import World

FRICTION, STIFFNESS, DELAY = (0.2, 1.1), (0.925, 1.05), (0.02, 0.04)
"""ASAP's Table VI: floor friction, share of kp, delay of commands in s."""


def varied_world(world: World, count: int, seed: int = 0) -> MixedWorld:
    """Worlds like one: within the intervals of its calibration, or as in ASAP's Table VI.

    Table VI has other floor friction, stiffness and delay than the nominal simulator.
    """
    if isinstance(world, CorrectedWorld):
        return world_within(world, count, seed)
    if not isinstance(world, EngineWorld):
        raise DataError("only the simulator of a robot can be varied, not a hidden robot")
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


def world_within(world: CorrectedWorld, count: int, seed: int = 0) -> MixedWorld:
    """Worlds whose identified parameters are drawn from their joint uncertainty.

    None is outside its 95 % interval. Corrections stay: they were learned at the identified values.

    Args:
        world: a calibrated one, such as that of a run.
        count: how many worlds.
        seed: of what is drawn.
    """
    calibration = world.calibration
    if calibration is None:
        raise DataError(
            "there are no intervals to vary within: this simulator has no identified parameters. "
            "Vary the nominal one (--world mujoco --vary N), or tune in this one as it is"
        )
    rng, ranges = np.random.default_rng([seed, 7]), calibration.ranges()
    drawn = [calibration.sample(rng) for _ in range(count)]
    within = [
        found.with_values({k: float(np.clip(v, *ranges[k])) for k, v in found.values.items()})
        for found in drawn
    ]
    return MixedWorld([world.calibrated_as(found) for found in within])
