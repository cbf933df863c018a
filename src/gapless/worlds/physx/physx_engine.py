"""The inner loop of PhysxWorld: one scene per environment, the torque of all computed at once."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from gapless.worlds.actuators import Actuators, Motors, PdLaw
from gapless.worlds.effects import Effects
from gapless.worlds.engine import Engine, PackedTrajectory, law_of
from gapless.worlds.physx.scene_batch import SceneBatch


class PhysxEngine(Engine):
    """Plays targets in PhysX, one scene an environment.

    PD acts as a torque at every physics step. Its damping is made implicit, as in MuJoCo's
    implicitfast: (M + h·D) Δv = h·f is an explicit step whose armature is larger by h·D. Dry
    friction is a drive that asks for standstill with no more force than the friction has.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *engine: Any,
        names: tuple[str, ...],
        frictionloss: np.ndarray,
        damping: np.ndarray,
    ) -> None:
        super().__init__(model, *engine)
        self._names, self._frictionloss, self._damping = names, frictionloss, damping
        self._armature = model.dof_armature[self.layout.dof]

    def actuators(self, models: list[Any], effects: Effects) -> Actuators:
        """The actuators of environments, friction and damping included: PhysX has none in N·m."""
        law = law_of([one.model for one in models])
        return Actuators(
            effects,
            law,
            self.model.opt.timestep,
            self._frictionloss,
            self._damping,
        )

    def _advance(
        self,
        actuators: Actuators,
        models: list[Any],
        played: PackedTrajectory,
        part: slice,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> None:
        """Physics step by physics step, all environments side by side."""
        batch = SceneBatch(models, self._names, self.layout, played.packed[:, part.start].copy())
        q, dq = batch.q, batch.dq
        motors = played.motors or Motors.unset(actuators.effects.ambient, len(q), None)
        actuators.begin(control[:, 0], q, dq, motors)
        for k in range(control.shape[1]):
            armature = self._armature_with_damping(actuators.law, control[:, k] - q, dq)
            torque, dry = actuators.torque(control[:, k], q, dq, motors)
            batch.step(torque if push is None else torque + push[:, k], dry, armature)
            q, dq = batch.q, batch.dq
            if (k + 1) % self.substeps == 0:
                row = part.start + (k + 1) // self.substeps
                played.packed[:, row] = batch.read(1 / self.rate)
                played.torque[:, row] = actuators.motor_torque(control[:, k], q, dq, motors)[0]
                if played.temperature is not None:
                    played.temperature[:, row] = motors.temperature
        played.motors = motors

    def _armature_with_damping(self, law: PdLaw, error: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """MuJoCo, too, leaves the damping of a motor at its torque limit out."""
        within = np.abs(law.kp * error - law.kd * dq) < law.effort
        return self._armature + self.model.opt.timestep * (self._damping + law.kd * within)
