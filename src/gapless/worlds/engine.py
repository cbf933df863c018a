"""Packed states through time: what the inner loops of all engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from gapless.worlds.actuators import Actuators, Motors, PdLaw
from gapless.worlds.chance import LONGEST
from gapless.worlds.effects import Effects, spread_over_substeps
from gapless.worlds.packing import StateLayout

CHUNK_STEPS = 200
"""Control steps played at once. The solver starts cold after each cut, so the cuts must not depend
on how many environments there are: an environment moves the same in every batch."""

RUNAWAY = 1e6
"""A state beyond this (rad, rad/s, m) is no motion of a robot; NaN fails the same test."""


@dataclass
class PackedTrajectory:
    """Packed states at the control rate, and what the motors did meanwhile.

    Attributes:
        packed: (n, T+1, size).
        valid: (n, T+1).
        torque: (n, T+1, J) motor torque at each sample, under the target still in force, N·m.
        temperature: (n, T+1, J) of the motors, °C; None where they do not warm.
        motors: what they remember at the end; None where they remember nothing.
    """

    packed: np.ndarray
    valid: np.ndarray
    torque: np.ndarray
    temperature: np.ndarray | None
    motors: Motors | None

    @classmethod
    def concatenate(cls, parts: Sequence[PackedTrajectory]) -> PackedTrajectory:
        """The environments of all parts, which agree on whether motors remember and warm."""
        motors = [part.motors for part in parts if part.motors is not None]
        warm = [part.temperature for part in parts if part.temperature is not None]
        return cls(
            packed=np.concatenate([part.packed for part in parts]),
            valid=np.concatenate([part.valid for part in parts]),
            torque=np.concatenate([part.torque for part in parts]),
            temperature=np.concatenate(warm) if warm else None,
            motors=Motors.concatenate(motors) if motors else None,
        )


class Engine(ABC):
    """Plays targets: commands, delays, actuators and validity; the physics is a subclass's.

    Args:
        model: the nominal model; the models of environments must have its sizes.
        layout: where it keeps our joints.
        effects: resolved to (J,) arrays.
        rate: control steps per second.
        substeps: physics steps per control step.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        layout: StateLayout,
        effects: Effects,
        rate: float,
        substeps: int,
    ) -> None:
        self.model, self.layout, self.effects = model, layout, effects
        self.rate, self.substeps = rate, substeps

    @property
    def history_steps(self) -> int:
        """Earlier targets that a command delay still brings into force."""
        return history_steps(self.effects, self.rate)

    @abstractmethod
    def actuators(self, models: list[Any], effects: Effects) -> Actuators:
        """The actuators of these environments."""

    def play(
        self,
        start: np.ndarray,
        targets: np.ndarray,
        torques: np.ndarray | None,
        history: np.ndarray,
        models: list[Any],
        motors: Motors | None = None,
        late: np.ndarray | None = None,
        effects: Effects | None = None,
    ) -> PackedTrajectory:
        """Play (n, T, J) targets from packed states.

        Args:
            start: (n, size) packed states.
            targets: reported positions to hold, rad.
            torques: (n, T, J) extra joint torques, N·m, or None.
            history: (n, H, J) the targets before.
            models: one an environment.
            motors: what the motors remember, where they do.
            late: (n, H + T) seconds of jitter of each command, or None.
            effects: (n, J) arrays where environments differ; the engine's own by default.
        """
        effects = self.effects if effects is None else effects
        steps, actuators = targets.shape[1], self.actuators(models, effects)
        played = self._blank(start, targets, motors, effects)
        for first in range(0, steps, CHUNK_STEPS):
            part = slice(first, min(first + CHUNK_STEPS, steps))
            control = self._control(targets, history, late, part, effects)
            push = None if torques is None else np.repeat(torques[:, part], self.substeps, 1)
            self._advance(actuators, models, played, part, control, push)
        played.valid = self._validity(played.packed)
        return played

    def _blank(
        self, start: np.ndarray, targets: np.ndarray, motors: Motors | None, effects: Effects
    ) -> PackedTrajectory:
        environments, steps, joints = targets.shape
        packed = np.empty((environments, steps + 1, self.layout.size))
        packed[:, 0] = start
        torque = np.full((environments, steps + 1, joints), np.nan)
        temperature = None
        if motors is not None and effects.heating.any():
            temperature = np.repeat(motors.temperature[:, None], steps + 1, axis=1)
        return PackedTrajectory(packed, np.zeros(0), torque, temperature, motors)

    def _control(
        self,
        targets: np.ndarray,
        history: np.ndarray,
        late: np.ndarray | None,
        part: slice,
        effects: Effects,
    ) -> np.ndarray:
        """True positions to hold at each physics step of some control steps."""
        kept = max(1, history_steps(effects, self.rate))
        before = np.concatenate([history, targets[:, : part.start]], axis=1)[:, -kept:]
        first = history.shape[1] + part.start - before.shape[1]
        jitter = None if late is None else late[:, first : history.shape[1] + part.stop]
        control = spread_over_substeps(
            targets[:, part], before, effects.delay, self.rate, self.substeps, jitter
        )
        bias = effects.encoder_bias
        return control - bias[..., None, :] if bias.any() else control

    def _validity(self, out: np.ndarray) -> np.ndarray:
        """Engines freeze an environment that diverges: its clock then stands still."""
        expected = out[:, :1, 0] + np.arange(out.shape[1]) / self.rate
        good = np.isclose(out[..., 0], expected, rtol=0, atol=self.model.opt.timestep / 2)
        good &= (np.abs(out) < RUNAWAY).all(axis=-1)
        return np.logical_and.accumulate(good, axis=1)

    @abstractmethod
    def _advance(
        self,
        actuators: Actuators,
        models: list[Any],
        played: PackedTrajectory,
        part: slice,
        control: np.ndarray,
        push: np.ndarray | None,
    ) -> None:
        """Fill in some control steps.

        Args:
            actuators: of the environments, with the effects in force.
            models: one an environment.
            played: states, torques and motors up to the start of the part.
            part: control steps.
            control: (n, substeps · steps, J) true positions to hold at each physics step.
            push: (n, substeps · steps, J) extra joint torques, or None.
        """


def history_steps(effects: Effects, rate: float) -> int:
    """Earlier targets that the delays of some effects still bring into force."""
    seconds = (effects.delay + LONGEST * effects.jitter).max(initial=0.0)
    return int(np.ceil(seconds * rate - 1e-9))


def law_of(models: list[mujoco.MjModel]) -> PdLaw:
    """The PD law of the motors of environments, (n, J)."""
    return PdLaw(
        kp=each_model(models, lambda m: m.actuator_gainprm[:, 0]),
        kd=each_model(models, lambda m: -m.actuator_biasprm[:, 2]),
        effort=each_model(models, effort_limits),
    )


def each_model(
    models: list[mujoco.MjModel], read: Callable[[mujoco.MjModel], np.ndarray]
) -> np.ndarray:
    """(n, ...) of the models of environments; one that many share is read once."""
    own = dict(zip(map(id, models), models, strict=True))
    if len(own) == 1:
        return np.repeat(np.array([read(models[0])]), len(models), axis=0)
    place = {key: row for row, key in enumerate(own)}
    return np.array([read(model) for model in own.values()])[[place[id(m)] for m in models]]


def effort_limits(model: mujoco.MjModel) -> np.ndarray:
    """(J,) torque limits of a model's motors, inf where there is none, N·m."""
    return np.where(model.actuator_forcelimited, model.actuator_forcerange[:, 1], np.inf)
