"""Packed states through time: the inner loop of MujocoWorld."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco import rollout as mj_rollout

from gapless.worlds.effects import (
    Effects,
    PdLaw,
    added_torque,
    motor_torque,
    spread_over_substeps,
)
from gapless.worlds.packing import Layout

BUFFER_BYTES = 96 * 2**20
"""Physics states kept at once; longer rollouts are cut in time, so memory does not grow."""

RUNAWAY = 1e6
"""A state beyond this (rad, rad/s, m) is no motion of a robot; NaN fails the same test."""

CONTROL = int(mujoco.mjtState.mjSTATE_CTRL)
CONTROL_AND_TORQUE = CONTROL | int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)


class Engine:
    """A thread pool over mujoco.rollout, with the actuator effects MuJoCo lacks.

    Args:
        model: the nominal model; the models of copies must have its sizes.
        layout: where it keeps our joints.
        effects: resolved to (J,) arrays.
        effort: (J,) torque limits, inf where there is none, N·m.
        rate: control steps per second.
        substeps: physics steps per control step.
        threads: size of the pool.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        layout: Layout,
        effects: Effects,
        effort: np.ndarray,
        rate: float,
        substeps: int,
        threads: int,
    ) -> None:
        self.model, self.layout, self.effects, self.effort = model, layout, effects, effort
        self.rate, self.substeps = rate, substeps
        self.pool = mj_rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.data = [mujoco.MjData(model) for _ in range(threads)]
        self.damping_cap = self._stable_friction_slope()
        self._memory: dict[str, np.ndarray] = {}

    def _reused(self, name: str, *shape: int) -> np.ndarray:
        """An array of this shape in memory that is kept: fresh pages cost as much as physics."""
        size = int(np.prod(shape))
        if self._memory.get(name, np.empty(0)).size < size:
            self._memory[name] = np.empty(size)
        return self._memory[name][:size].reshape(shape)

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return int(np.ceil(self.effects.delay.max(initial=0.0) * self.rate - 1e-9))

    def play(
        self,
        start: np.ndarray,
        targets: np.ndarray,
        torques: np.ndarray | None,
        history: np.ndarray,
        models: list[mujoco.MjModel],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play (n, T, J) targets from packed states.

        Args:
            start: (n, size) packed states.
            targets: reported positions to hold, rad.
            torques: (n, T, J) extra joint torques, N·m, or None.
            history: (n, H, J) the targets before.
            models: one a copy.

        Returns:
            (n, T+1, size) packed states at the control rate, and (n, T+1) validity.
        """
        copies, steps = targets.shape[:2]
        out = np.empty((copies, steps + 1, self.layout.size))
        out[:, 0] = start
        per_step = max(1, copies * self.substeps * self.layout.size * 8)
        chunk = max(1, BUFFER_BYTES // per_step)
        advance = self._advance_with_effects if self.effects.needs_torque else self._advance
        bias = self.effects.encoder_bias
        for first in range(0, steps, chunk):
            last = min(first + chunk, steps)
            before = np.concatenate([history, targets[:, :first]], axis=1)
            before = before[:, -max(1, self.history_steps) :]
            control = spread_over_substeps(
                targets[:, first:last], before, self.effects.delay, self.rate, self.substeps
            )
            push = None if torques is None else np.repeat(torques[:, first:last], self.substeps, 1)
            control = control - bias if bias.any() else control
            out[:, first + 1 : last + 1] = advance(models, out[:, first], control, push)
        return out, self._validity(out)

    def applied_torque(
        self,
        packed: np.ndarray,
        targets: np.ndarray,
        history: np.ndarray,
        models: list[mujoco.MjModel],
    ) -> np.ndarray:
        """(n, T+1, J) motor torque at each sample, under the target still in force, N·m."""
        control = targets
        if self.effects.delay.any():
            control = spread_over_substeps(
                targets, history, self.effects.delay, self.rate, self.substeps
            )[:, self.substeps - 1 :: self.substeps]
        q, dq = packed[:, 1:, self.layout.q], packed[:, 1:, self.layout.dq]
        law = self._law(models).per_sample()
        torque = motor_torque(self.effects, law, control - q - self.effects.encoder_bias, dq)
        return np.concatenate([np.full_like(torque[:, :1], np.nan), torque], axis=1)

    def _validity(self, out: np.ndarray) -> np.ndarray:
        """mujoco.rollout freezes a copy at its first warning: its clock then stands still."""
        expected = out[:, :1, 0] + np.arange(out.shape[1]) / self.rate
        good = np.isclose(out[..., 0], expected, rtol=0, atol=self.model.opt.timestep / 2)
        good &= (np.abs(out) < RUNAWAY).all(axis=-1)
        return np.logical_and.accumulate(good, axis=1)

    def _advance(
        self,
        models: list[mujoco.MjModel],
        start: np.ndarray,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> np.ndarray:
        """Native actuators only: one threaded call, every substeps-th state."""
        spec = CONTROL
        if push is not None:
            control = np.concatenate([control, self._on_dofs(push)], axis=2)
            spec = CONTROL_AND_TORQUE
        states = self._reused("states", len(start), control.shape[1], self.layout.size)
        self.pool.rollout(models, self.data, start, control, control_spec=spec, state=states)
        return states[:, self.substeps - 1 :: self.substeps]

    def _advance_with_effects(
        self,
        models: list[mujoco.MjModel],
        start: np.ndarray,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> np.ndarray:
        """One call a physics step, with the torque of the effects computed between them."""
        law, now = self._law(models), start
        kept = []
        for k in range(control.shape[1]):
            q, dq = now[:, self.layout.q], now[:, self.layout.dq]
            extra = added_torque(self.effects, law, control[:, k] - q, dq, self.damping_cap)
            extra = extra if push is None else extra + push[:, k]
            both = np.concatenate([control[:, k], self._on_dofs(extra)], axis=1)[:, None]
            both[~np.isfinite(now).all(axis=1)] = 0.0  # a diverged copy is marked by its state
            states, _ = self.pool.rollout(
                models, self.data, now, both, control_spec=CONTROL_AND_TORQUE
            )
            now = states[:, -1]
            if (k + 1) % self.substeps == 0:
                kept.append(now)
        return np.stack(kept, axis=1)

    def _on_dofs(self, joint_torque: np.ndarray) -> np.ndarray:
        forces = np.zeros((*joint_torque.shape[:-1], self.model.nv))
        forces[..., self.layout.dof] = joint_torque
        return forces

    def _law(self, models: list[mujoco.MjModel]) -> PdLaw:
        return PdLaw(
            kp=np.array([m.actuator_gainprm[:, 0] for m in models]),
            kd=np.array([-m.actuator_biasprm[:, 2] for m in models]),
            effort=self.effort[None],
        )

    def _stable_friction_slope(self) -> np.ndarray:
        """Half the joint's inertia per step: an explicit friction torque can then only slow it."""
        data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, data)
        dense = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, data, dense)
        return 0.5 * np.diag(dense)[self.layout.dof] / self.model.opt.timestep
