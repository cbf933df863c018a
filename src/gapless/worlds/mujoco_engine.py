"""The inner loop of MujocoWorld: a thread pool over mujoco.rollout."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import rollout as mj_rollout

from gapless.worlds.actuators import Actuators, Motors
from gapless.worlds.effects import Effects
from gapless.worlds.engine import Engine, PackedTrajectory, each_model, law_of
from gapless.worlds.friction_models import FrictionModels
from gapless.worlds.packing import StateLayout

BUFFER_BYTES = 96 * 2**20
"""Physics states kept at once: of so many environments as fit."""

AT_ONCE = 64
"""Environments a thread whose models are their own: more copies would not stay in its cache."""

CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)
CONTROL_AND_TORQUE = CONTROL | int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)


class MujocoEngine(Engine):
    """Plays targets in MuJoCo, with the actuator effects it lacks as torques between steps.

    Dry friction is MuJoCo's own at all times; where it depends on speed or load, its bound is
    written into the model before every step.

    Args:
        model: the nominal model; the models of environments must have its sizes.
        layout: where it keeps our joints.
        effects: resolved to (J,) arrays.
        rate: control steps per second.
        substeps: physics steps per control step.
        threads: size of the pool.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        layout: StateLayout,
        effects: Effects,
        rate: float,
        substeps: int,
        *,
        threads: int,
    ) -> None:
        super().__init__(model, layout, effects, rate, substeps)
        self.pool = mj_rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.data = [mujoco.MjData(model) for _ in range(threads)]
        self._own_models = FrictionModels(layout.dof)
        self._memory = np.empty(0)

    def actuators(self, models: list[mujoco.MjModel], effects: Effects) -> Actuators:
        """The actuators of these environments; damping is MuJoCo's own."""
        losses = each_model(models, lambda model: model.dof_frictionloss[self.layout.dof])
        return Actuators(effects, law_of(models), self.model.opt.timestep, losses)

    def play(
        self,
        start: np.ndarray,
        targets: np.ndarray,
        torques: np.ndarray | None,
        history: np.ndarray,
        models: list[mujoco.MjModel],
        motors: Motors | None = None,
        late: np.ndarray | None = None,
        effects: Effects | None = None,
    ) -> PackedTrajectory:
        """As `Engine.play`; block by block where each environment needs a model of its own."""
        effects = self.effects if effects is None else effects
        size, whole = AT_ONCE * len(self.data), super().play
        if len(start) <= size or not effects.varies_dry_friction:
            return whole(start, targets, torques, history, models, motors, late, effects)
        parts = []
        for first in range(0, len(start), size):
            block = slice(first, first + size)
            optional = (None if value is None else value[block] for value in (torques, late))
            some, (push, jitter) = None if motors is None else motors[block], optional
            parts.append(
                whole(
                    *(start[block], targets[block], push, history[block], models[block]),
                    *(some, jitter, effects.of_environments(block)),
                )
            )
        return PackedTrajectory.concatenate(parts)

    def _advance(
        self,
        actuators: Actuators,
        models: list[mujoco.MjModel],
        played: PackedTrajectory,
        part: slice,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> None:
        advance = self._with_effects if actuators.effects.needs_torque else self._natively
        advance(actuators, models, played, part, control, push)

    def _natively(
        self,
        actuators: Actuators,
        models: list[mujoco.MjModel],
        played: PackedTrajectory,
        part: slice,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> None:
        """Native actuators only: one threaded call, every substeps-th state."""
        spec, given, start = CONTROL, control, played.packed[:, part.start]
        if push is not None:
            given = np.concatenate([control, self._on_dofs(push)], axis=2)
            spec = CONTROL_AND_TORQUE
        kept = played.packed[:, part.start + 1 : part.stop + 1]
        block = max(1, BUFFER_BYTES // (control.shape[1] * self.layout.size * 8))
        for first in range(0, len(start), block):
            some = slice(first, first + block)
            states = self._reused(*given[some].shape[:2], self.layout.size)
            self.pool.rollout(
                models[some], self.data, start[some], given[some], control_spec=spec, state=states
            )
            kept[some] = states[:, self.substeps - 1 :: self.substeps]
        held = control[:, self.substeps - 1 :: self.substeps]
        q, dq = kept[..., self.layout.q], kept[..., self.layout.dq]
        law = actuators.law.per_sample()
        played.torque[:, part.start + 1 : part.stop + 1] = law.torque(held - q, dq)

    def _with_effects(
        self,
        actuators: Actuators,
        models: list[mujoco.MjModel],
        played: PackedTrajectory,
        part: slice,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> None:
        """One call a physics step, with the torque of the effects computed between them."""
        columns, joints = (self.layout.q, self.layout.dq), control.shape[2]
        now = played.packed[:, part.start].copy()
        q, dq = (now[:, c] for c in columns)
        both = np.zeros((len(now), 1, joints + self.model.nv))
        state = np.empty((len(now), 1, self.layout.size))
        motors = played.motors or Motors.unset(actuators.effects.ambient, len(now), None)
        actuators.begin(control[:, 0], q, dq, motors)
        rewrites = actuators.effects.varies_dry_friction
        if rewrites:
            models = self._own_models.of_environments(models)
        for k in range(control.shape[1]):
            native = actuators.law.torque(control[:, k] - q, dq)
            torque, dry = actuators.torque(control[:, k], q, dq, motors)
            extra = torque - native
            both[:, 0, :joints] = control[:, k]
            both[:, 0, joints + self.layout.dof] = extra if push is None else extra + push[:, k]
            if not np.isfinite(both).all():
                # MuJoCo would take a NaN for zero: the environment must not look alive.
                lost = np.flatnonzero(~np.isfinite(both[:, 0]).all(axis=1))
                both[lost], now[lost] = 0.0, np.nan
                dry = np.nan_to_num(dry)
            if rewrites:
                self._own_models.write(dry)
            self.pool.rollout(
                models,
                self.data,
                now,
                both,
                control_spec=CONTROL_AND_TORQUE,
                nstep=1,
                state=state,
                skip_checks=k > 0,  # the sizes cannot change from step to step
            )
            now[:] = state[:, 0]
            q, dq = (now[:, c] for c in columns)
            if (k + 1) % self.substeps == 0:
                row = part.start + (k + 1) // self.substeps
                sample = actuators.motor_torque(control[:, k], q, dq, motors)
                played.packed[:, row], played.torque[:, row] = now, sample[0]
                if played.temperature is not None:
                    played.temperature[:, row] = motors.temperature
        played.motors = motors

    def _on_dofs(self, joint_torque: np.ndarray) -> np.ndarray:
        forces = np.zeros((*joint_torque.shape[:-1], self.model.nv))
        forces[..., self.layout.dof] = joint_torque
        return forces

    def _reused(self, *shape: int) -> np.ndarray:
        """An array of this shape in memory that is kept: fresh pages cost as much as physics."""
        size = int(np.prod(shape))
        if self._memory.size < size:
            self._memory = np.empty(size)
        return self._memory[:size].reshape(shape)
