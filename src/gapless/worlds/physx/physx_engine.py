"""The inner loop of PhysxWorld: one scene per environment, the torque of all computed at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from gapless.worlds.actuators import Actuators, Motors, PdLaw
from gapless.worlds.effects import Effects
from gapless.worlds.engine import RUNAWAY, Engine, PackedTrajectory, law_of
from gapless.worlds.packing import StateLayout
from gapless.worlds.physx.description import PhysxDescription
from gapless.worlds.physx.physx_scene import PhysxScene

LARGEST = float(np.finfo(np.float32).max)
"""PhysX computes in single precision."""


@dataclass
class PhysxEnvironment:
    """A robot under its own conditions; its scene is built where it is first played from.

    Attributes:
        model: what the torque path needs of it.
        plan: what PhysX needs of it.
        scene: None until the first step.
        alive: False from the moment it diverged.
    """

    model: mujoco.MjModel
    plan: PhysxDescription
    scene: PhysxScene | None = None
    alive: bool = True

    def scene_from(
        self, names: tuple[str, ...], layout: StateLayout, start: np.ndarray
    ) -> PhysxScene:
        """The running scene, or a new one at the start."""
        if self.scene is None:
            self.scene = PhysxScene(self.plan, names, layout, start)
        return self.scene


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
        environments: list[PhysxEnvironment] = models
        now = played.packed[:, part.start].copy()
        for one, row in zip(environments, now, strict=True):
            one.scene_from(self._names, self.layout, row)
        q, dq = now[:, self.layout.q], now[:, self.layout.dq]
        motors = played.motors or Motors.unset(actuators.effects.ambient, len(now), None)
        actuators.begin(control[:, 0], q, dq, motors)
        for k in range(control.shape[1]):
            armature = self._armature_with_damping(actuators.law, control[:, k] - q, dq)
            torque, dry = actuators.torque(control[:, k], q, dq, motors)
            torque = torque if push is None else torque + push[:, k]
            _step(environments, torque, dry, armature, q, dq)
            if (k + 1) % self.substeps == 0:
                self._read(environments, now)
                row = part.start + (k + 1) // self.substeps
                played.packed[:, row] = now
                played.torque[:, row] = actuators.motor_torque(control[:, k], q, dq, motors)[0]
                if played.temperature is not None:
                    played.temperature[:, row] = motors.temperature
        played.motors = motors

    def _armature_with_damping(self, law: PdLaw, error: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """MuJoCo, too, leaves the damping of a motor at its torque limit out."""
        within = np.abs(law.kp * error - law.kd * dq) < law.effort
        return self._armature + self.model.opt.timestep * (self._damping + law.kd * within)

    def _read(self, environments: list[PhysxEnvironment], now: np.ndarray) -> None:
        """Take over the states of the living; one that ran away keeps its last good state."""
        row = np.empty(now.shape[1])
        for i, one in enumerate(environments):
            if not one.alive or one.scene is None:
                continue
            row[:] = now[i]
            one.scene.read(row)
            one.alive = bool((np.abs(row) < RUNAWAY).all())
            if one.alive:
                now[i] = row
                now[i, 0] += 1 / self.rate


def _step(
    environments: list[PhysxEnvironment],
    torque: np.ndarray,
    dry: np.ndarray,
    armature: np.ndarray,
    q: np.ndarray,
    dq: np.ndarray,
) -> None:
    """Advance living environments and read their joints; PhysX must never be given a NaN."""
    usable = np.all(np.abs(torque) < LARGEST, axis=1)
    for i, one in enumerate(environments):
        one.alive = one.alive and bool(usable[i])
        if one.alive and one.scene is not None:
            one.scene.advance(torque[i], dry[i], armature[i])
            one.scene.read_joints(q[i], dq[i])
