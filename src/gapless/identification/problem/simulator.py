"""Many candidate robots at once: windows replayed under each of many sets of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import mujoco
import numpy as np

from gapless.measurement.alignment import Commands
from gapless.measurement.standing_starts import StandingStarts, moves_starts
from gapless.measurement.windows import Windows
from gapless.parameters import Parameter, apply
from gapless.parameters.contact_kinds import OUT_OF_REACH
from gapless.robots import Robot
from gapless.worlds.effects import IMU, PER_JOINT, Effects
from gapless.worlds.mujoco_world import MujocoWorld
from gapless.worlds.world import State, Trajectory

ENVIRONMENTS = 2048
"""Simulations run at once; more would only need more memory."""


@dataclass(frozen=True)
class Candidate:
    """A robot, and the effects of its drives, with figures that are being tried."""

    robot: Robot
    effects: Effects


class Simulator:
    """Replays windows for many candidates.

    Args:
        world: the nominal robot in MuJoCo.
        parameters: what is varied.
    """

    def __init__(self, world: MujocoWorld, parameters: Sequence[Parameter]) -> None:
        self.world, self.parameters = _with_floor(world, parameters), list(parameters)
        self.simulated_seconds = 0.0

    def candidate(self, values: np.ndarray) -> Candidate:
        """The robot and effects with these values."""
        return Candidate(*apply(self.world.robot, self.world.effects, self.parameters, values))

    def play(self, windows: Windows, values: np.ndarray) -> Trajectory:
        """Replay all windows under every row of values.

        Args:
            windows: n of them.
            values: (k, P).

        Returns:
            Arrays (k, n, T, ...): the states after each command.
        """
        candidates = [self.candidate(row) for row in values]
        at_once = max(1, ENVIRONMENTS // len(windows))
        parts = [
            self._play(windows, candidates[i : i + at_once])
            for i in range(0, len(candidates), at_once)
        ]
        self.simulated_seconds += len(candidates) * windows.seconds
        shape = (len(candidates), len(windows))
        joined = Trajectory.concatenate(parts)
        # Sample 0 is the common start.
        return joined.map(lambda v: v.reshape(*shape, *v.shape[1:])[:, :, 1:])

    def _play(self, windows: Windows, candidates: list[Candidate]) -> Trajectory:
        each, told = len(windows), windows.conditions
        made = [self.world.models.of_robot(c.robot) for c in candidates]
        models = [model for of in made for model in of.of_environments(each, told)]
        targets = np.concatenate(
            [_targets(windows.commands, models[i : i + each]) for i in range(0, len(models), each)]
        )
        effects = self._effects(candidates, len(windows))
        start = State.concatenate([windows.start] * len(candidates))
        if moves_starts(windows, effects):
            feet, guessed = (
                np.tile(w, len(candidates)) for w in (windows.from_feet, windows.estimated)
            )
            start = self._standing(start, feet, guessed, effects)
        before = windows.before
        return self.world.rollout_environments(
            start, targets[:, before:], targets[:, :before], models, effects
        )

    @cached_property
    def _standing(self) -> StandingStarts:
        return StandingStarts(self.world.robot)

    def _effects(self, candidates: list[Candidate], each: int) -> Effects:
        """Effects of (candidates · windows, J) arrays; of (J,) where all candidates agree.

        Those of the IMU are (candidates · windows,), or numbers.
        """
        first, joints = candidates[0].effects, len(self.world.robot.joints)
        arrays = {}
        for name in PER_JOINT:
            values = [np.broadcast_to(getattr(c.effects, name), joints) for c in candidates]
            same = all(v is values[0] or np.array_equal(v, values[0]) for v in values)
            arrays[name] = values[0] if same else np.repeat(np.array(values), each, axis=0)
        for name in IMU:
            own = np.array([getattr(c.effects, name) for c in candidates], float)
            arrays[name] = own[0] if (own == own[0]).all() else np.repeat(own, each)
        return Effects(**arrays, seed=first.seed)


def _with_floor(world: MujocoWorld, parameters: Sequence[Parameter]) -> MujocoWorld:
    """A floor out of reach, where one is looked for: all models must have the same parts."""
    robot = world.robot
    if robot.meets_floor or all(p.kind != "floor_height" for p in parameters):
        return world
    return world.variant(robot=robot.with_floor(replace(robot.floor, height=OUT_OF_REACH)))


def _targets(asked: Commands, models: list[mujoco.MjModel]) -> np.ndarray:
    """(n, H + T, J) positions to hold under the gains of these models."""
    if asked.target_dq is None and asked.torque_ff is None:
        return asked.target
    kp = np.array([m.actuator_gainprm[:, 0] for m in models])[:, None]
    kd = np.array([-m.actuator_biasprm[:, 2] for m in models])[:, None]
    return asked.folded(kp, kd)
