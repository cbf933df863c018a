"""From a target to the torque on a joint: the path that every engine shares.

The motor follows its target by PD, within what its temperature and speed leave of its limits. It
turns the joint through a transmission with backlash and compliance: the motor then has an angle of
its own, which is remembered. Friction acts on the joint; of dry friction only the bound is said
here, and the engines make it hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.worlds.dry_friction import DryFriction
from gapless.worlds.effects import Effects

START_TEMPERATURE = "motor_temperature"
"""Name of the condition (`Conditions.extra`) that says how warm the motors are at the start, °C."""

LEAST_STRENGTH = 0.2
"""A drive that has lost more than this would have switched itself off."""

TINY = 1e-12


@dataclass(frozen=True)
class PdLaw:
    """The PD law of each environment: (n, J) gains and limits."""

    kp: np.ndarray
    kd: np.ndarray
    effort: np.ndarray

    def torque(self, error: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """kp·error - kd·dq, within the effort limits, N·m."""
        asked = self.kp * error - self.kd * dq
        return np.minimum(np.maximum(asked, -self.effort), self.effort)

    def times(self, strength: np.ndarray) -> PdLaw:
        """The law of a motor that gives this share of its torque."""
        return PdLaw(self.kp * strength, self.kd * strength, self.effort * strength)

    def per_sample(self) -> PdLaw:
        """The same for (n, T, J) arrays."""
        return PdLaw(self.kp[:, None], self.kd[:, None], self.effort[:, None])


@dataclass
class Motors:
    """What motors remember, (n, J): their angle on their own side of the gear, and how warm."""

    angle: np.ndarray
    temperature: np.ndarray

    @classmethod
    def unset(
        cls, ambient: np.ndarray, environments: int, conditions: Sequence[Conditions] | None
    ) -> Motors:
        """Motors as warm as the conditions say; `Actuators.begin` sets their angles."""
        temperature = np.array(np.broadcast_to(ambient, (environments, np.shape(ambient)[-1])))
        for row, told in enumerate(conditions or ()):
            start = told.extra.get(START_TEMPERATURE)
            if start is not None and not (isinstance(start, (int, float)) and np.isfinite(start)):
                raise DataError(f"{START_TEMPERATURE} is {start!r}; expected a number, °C")
            temperature[row] = temperature[row] if start is None else start
        return cls(np.full_like(temperature, np.nan), temperature)

    def __getitem__(self, which: slice) -> Motors:
        """The memory of some environments."""
        return Motors(self.angle[which], self.temperature[which])

    @classmethod
    def concatenate(cls, parts: Sequence[Motors]) -> Motors:
        """The memory of the environments of all parts."""
        return cls(
            np.concatenate([part.angle for part in parts]),
            np.concatenate([part.temperature for part in parts]),
        )

    def replace(self, which: np.ndarray, other: Motors) -> None:
        """Take over the memory of some environments."""
        self.angle[which], self.temperature[which] = other.angle, other.temperature


class Actuators:
    """The actuators of n environments.

    Args:
        effects: resolved to (J,) arrays.
        law: the PD law.
        timestep: of the physics, s.
        frictionloss: (J,) or (n, J) Coulomb friction, N·m.
        damping: (J,) viscous friction, for engines that have none of their own, N·m·s/rad.
    """

    def __init__(
        self,
        effects: Effects,
        law: PdLaw,
        timestep: float,
        frictionloss: np.ndarray | float = 0.0,
        damping: np.ndarray | float = 0.0,
    ) -> None:
        self.effects, self.law, self.timestep = effects, law, timestep
        self.dry, self.damping = DryFriction(effects, frictionloss), damping
        self._play = effects.backlash / 2
        self._geared = bool(effects.backlash.any() or effects.compliance.any())
        self._warm = bool(effects.heating.any())
        self._limited = limited = np.isfinite(effects.no_load_speed)
        corner = np.where(limited, np.minimum(effects.corner_speed, effects.no_load_speed), 0.0)
        self._end = np.where(limited, effects.no_load_speed, 1.0)
        self._span = np.maximum(np.where(limited, self._end - corner, 1.0), TINY)
        self._any_limited = bool(limited.any())

    def begin(self, target: np.ndarray, q: np.ndarray, dq: np.ndarray, motors: Motors) -> None:
        """Set angles still unset: pulling towards the target, moving with the joint."""
        law, give = self.law, self.effects.compliance
        reach = np.clip(target - q, -self._play, self._play)
        pulled = (target - q - reach) / (1 + law.kp * give)
        twist = give * law.torque(pulled, np.zeros_like(dq))
        angle = q + reach + twist - dq * self.timestep
        motors.angle = np.where(np.isnan(motors.angle), angle, motors.angle)

    def torque(
        self, target: np.ndarray, q: np.ndarray, dq: np.ndarray, motors: Motors
    ) -> tuple[np.ndarray, np.ndarray]:
        """What acts on the joints during the next physics step; motors move on.

        Returns:
            (n, J) torque, and the dry friction that holds or slows the joints besides, N·m.
        """
        motor, angle = self.motor_torque(target, q, dq, motors)
        motors.angle = angle
        if self._warm:
            self._warm_up(motor, motors)
        passed = motor + self.dry.lean(motor) if self.dry.leans else motor
        if np.any(self.damping):
            passed = passed - self.damping * dq
        return passed, self.dry.bound(motor, dq)

    def motor_torque(
        self, target: np.ndarray, q: np.ndarray, dq: np.ndarray, motors: Motors
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the motors apply, before friction, N·m, and the angle they then have."""
        law = self.law.times(self.strength(motors)) if self._warm else self.law
        if not self._geared:
            return self._speed_limited(law.torque(target - q, dq), dq, law), motors.angle
        # A motor has hardly any inertia of its own (the armature is the joint's), so that it moves
        # as its spring and damper let it: kd·rate = kp·(target - angle), solved implicitly.
        pull = law.kd / self.timestep
        free = (pull * motors.angle + law.kp * target) / (pull + law.kp + TINY)
        apart = free - q
        side = np.sign(apart) * self._play
        give = self.effects.compliance
        torque = pull * (motors.angle - q - side) + law.kp * (target - q - side)
        torque = np.clip(torque / (1 + give * (pull + law.kp)), -law.effort, law.effort)
        torque = self._speed_limited(torque, dq, law)
        touching = np.abs(apart) > self._play
        torque = np.where(touching, torque, 0.0)
        return torque, np.where(touching, q + side + give * torque, free)

    def strength(self, motors: Motors) -> np.ndarray:
        """The share of its torque that each motor still gives, (n, J)."""
        excess = motors.temperature - self.effects.ambient
        return np.clip(1 - self.effects.heat_loss * excess, LEAST_STRENGTH, 1.0)

    def _warm_up(self, motor: np.ndarray, motors: Motors) -> None:
        effects = self.effects
        heat = effects.heating * (motor / self.law.effort) ** 2
        loss = (motors.temperature - effects.ambient) / effects.cooling
        motors.temperature = motors.temperature + self.timestep * (heat - loss)

    def _speed_limited(self, torque: np.ndarray, dq: np.ndarray, law: PdLaw) -> np.ndarray:
        if not self._any_limited:
            return torque
        left = np.clip((self._end - np.abs(dq)) / self._span, 0.0, 1.0)
        most = law.effort * left
        driving = torque * dq > 0
        return np.where(self._limited & driving, np.clip(torque, -most, most), torque)
