"""PhysxWorld: a robot in PhysX 5, on the CPU and without graphics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Self

import numpy as np

from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.effects import Effects
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.models import MODELS_KEPT
from gapless.worlds.physx.description import read_plan
from gapless.worlds.physx.library import INTEGRATOR, engine_version, require_sapien
from gapless.worlds.physx.physx_engine import PhysxEngine
from gapless.worlds.physx.scene_batch import PhysxEnvironment
from gapless.worlds.world import State, Trajectory

SCENES_AT_ONCE = 64
"""Environments of a rollout that are simulated side by side: a scene takes about 2 MB."""


class PhysxWorld(EngineWorld):
    """Environments of a robot in PhysX, one scene each.

    Every reset and every rollout builds new scenes. A start beyond a joint's limits widens that
    limit for that environment: recordings of real robots have such starts.

    Args:
        robot: what is simulated; its mount decides whether there is a floor.
        rate: control steps per second; the robot's own by default.
        physics_step: longest physics step, s. The step used divides the control step evenly.
        effects: actuator effects beyond PD; none by default.

    Example:
        world = PhysxWorld(Robot.load("g1"))
        world.rollout(world.home(), targets)
    """

    def __init__(
        self,
        robot: Robot,
        rate: float | None = None,
        *,
        physics_step: float = 0.002,
        effects: Effects | None = None,
    ) -> None:
        require_sapien()
        super().__init__(robot, rate, physics_step=physics_step, effects=effects)
        self._engine = PhysxEngine(
            *(self._model, self._layout, self.effects, self._rate, self.substeps),
            names=robot.joints.names,
            frictionloss=robot.joints.frictionloss,
            damping=robot.joints.damping,
        )
        self._plan = lru_cache(MODELS_KEPT)(read_plan)
        self._plan(self._model)  # what PhysX cannot represent is refused now

    @property
    def _software(self) -> tuple[str, str, str]:
        return "physx", engine_version(), INTEGRATOR

    def variant(
        self,
        *,
        robot: Robot | None = None,
        effects: Effects | None = None,
        rate: float | None = None,
    ) -> Self:
        """A new world that differs in what is given."""
        return type(self)(
            robot or self._robot,
            rate or self._rate,
            physics_step=self._physics_step,
            effects=effects or self._effects_given,
        )

    def place(self, state: State) -> None:
        """Move the environments to another state; their scenes are built anew there."""
        super().place(state)
        for environment, alive in zip(
            self._environments.models, self._environments.alive, strict=True
        ):
            if alive:
                environment.scene = None

    def _push(self, added: np.ndarray) -> None:
        """A push is no teleport: the scenes go on, contacts and all."""
        super()._push(added)
        for environment, velocity in zip(self._environments.models, added, strict=True):
            if environment.scene is not None and velocity.any():
                environment.scene.push(velocity)

    def rollout(
        self,
        state: State,
        targets: np.ndarray,
        *,
        torques: np.ndarray | None = None,
        history: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
    ) -> Trajectory:
        """Play (n, T, J) targets from a state, block by block; see `World.rollout`."""
        given = {"torques": torques, "history": history, "conditions": conditions}
        told = {name: values for name, values in given.items() if values is not None}
        sizes = {len(values) for values in (state, targets, *told.values())}
        if len(state) <= SCENES_AT_ONCE or len(sizes) > 1:  # unequal sizes are refused there
            return super().rollout(state, targets, **told)
        played = []
        for first in range(0, len(state), SCENES_AT_ONCE):
            block = slice(first, first + SCENES_AT_ONCE)
            part = {name: values[block] for name, values in told.items()}
            played.append(super().rollout(state[block], targets[block], **part))
        return Trajectory.concatenate(played)

    def _models_for(self, environments: int, conditions: Sequence[Conditions] | None) -> list[Any]:
        """Environments that have no scene yet, so that each start is built anew."""
        models = super()._models_for(environments, conditions)
        return [PhysxEnvironment(model, self._plan(model)) for model in models]
