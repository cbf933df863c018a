"""What real actuators add to a PD law, vectorised over copies.

Gains, effort limits, armature, Coulomb and viscous friction are native to MuJoCo and live in the
robot. Command delay and encoder bias only move the targets. The rest needs the state at every
physics step and is added as a torque on top of the native PD.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gapless.errors import ModelError

STICTION_SPEED = 0.02
"""Speed (rad/s) below which dry friction fades linearly to zero: it must not push at rest."""


PerJoint = Any
"""A number for all joints, or (J,) numbers in the robot's joint order."""


@dataclass(frozen=True)
class Effects:
    """Per-joint effects, each a scalar or a (J,) array in the robot's joint order."""

    delay: PerJoint = 0.0
    """Seconds between a command and its effect; any fraction of a step."""
    encoder_bias: PerJoint = 0.0
    """Reported minus true position, rad. The controller acts on the reported one."""
    stribeck_torque: PerJoint = 0.0
    """Dry friction at rest in excess of the moving one, N·m."""
    stribeck_speed: PerJoint = 0.1
    """Speed at which that excess has fallen to 1/e, rad/s."""
    load_friction: PerJoint = 0.0
    """Dry friction per transmitted torque, 1."""
    corner_speed: PerJoint = np.inf
    """Speed above which the torque limit falls, rad/s."""
    no_load_speed: PerJoint = np.inf
    """Speed at which no driving torque is left, rad/s."""
    backlash: PerJoint = 0.0
    """Total play between motor and joint, rad: a dead zone of the position error. The controller
    sees the motor, the log the joint; the play itself has no friction and no hysteresis."""

    def __post_init__(self) -> None:
        signed, open_ended = {"encoder_bias"}, {"corner_speed", "no_load_speed"}
        for f in fields(self):
            value = np.asarray(getattr(self, f.name), float)
            bad = np.isnan(value) | ((value < 0) & (f.name not in signed))
            bad |= np.isinf(value) & (f.name not in open_ended)
            bad |= (value == 0) & (f.name == "stribeck_speed")
            if bad.any():
                raise ModelError(f"effect {f.name} is {value}; expected finite numbers above 0")

    def resolve(self, joints: int) -> Effects:
        """The same with every field a (J,) array."""
        for f in fields(self):
            shape = np.shape(getattr(self, f.name))
            if shape not in ((), (joints,)):
                raise ModelError(
                    f"effect {f.name} has shape {shape}; expected a number or {joints} numbers, "
                    "one a joint"
                )
        return Effects(
            **{
                f.name: np.broadcast_to(np.asarray(getattr(self, f.name), float), joints)
                for f in fields(self)
            }
        )

    @property
    def needs_torque(self) -> bool:
        """True where an effect depends on the state inside a control step."""
        return bool(
            np.any(self.stribeck_torque)
            or np.any(self.load_friction)
            or np.any(self.backlash)
            or np.any(np.isfinite(self.no_load_speed))
        )

    def fingerprint(self) -> str:
        """Hash of all values, resolved; empty for the ideal actuator."""
        if self == Effects().resolve(len(np.atleast_1d(self.delay))):
            return ""
        parts = [np.asarray(getattr(self, f.name), float).tobytes() for f in fields(self)]
        return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Effects) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


def spread_over_substeps(
    targets: np.ndarray, history: np.ndarray, delay: np.ndarray, rate: float, substeps: int
) -> np.ndarray:
    """Hold each target for its control step, `delay` seconds late, at the physics rate.

    Args:
        targets: (n, T, J).
        history: (n, H, J) the targets before, newest last; the oldest is held further back.
        delay: (J,) seconds.
        rate: control steps per second.
        substeps: physics steps per control step.

    Returns:
        (n, T * substeps, J) the target in force at the start of each physics step.
    """
    if not delay.any():
        return np.repeat(targets, substeps, axis=1)
    known = np.concatenate([history, targets], axis=1)
    now = np.arange(targets.shape[1] * substeps)[:, None] / substeps
    # The small number keeps a delay of whole physics steps from slipping by one through rounding.
    index = np.floor(now - delay * rate + 1e-9).astype(int) + history.shape[1]
    return known[:, np.clip(index, 0, None), np.arange(len(delay))]


@dataclass(frozen=True)
class PdLaw:
    """The native PD law of each copy: (n, J) gains and limits."""

    kp: np.ndarray
    kd: np.ndarray
    effort: np.ndarray

    def torque(self, error: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """kp·error - kd·dq, within the effort limits, N·m."""
        return np.clip(self.kp * error - self.kd * dq, -self.effort, self.effort)

    def per_sample(self) -> PdLaw:
        """The same for (n, T, J) arrays."""
        return PdLaw(self.kp[:, None], self.kd[:, None], self.effort[:, None])


def added_torque(
    effects: Effects, law: PdLaw, error: np.ndarray, dq: np.ndarray, damping_cap: np.ndarray
) -> np.ndarray:
    """Torque that turns the native PD into the real actuator, (n, J) N·m.

    Args:
        effects: resolved to (J,) arrays.
        law: the native PD, which the engine applies itself.
        error: target minus reported position, rad.
        dq: joint velocity, rad/s.
        damping_cap: (J,) largest friction slope an explicit step stays stable with, N·m·s/rad.
    """
    motor = motor_torque(effects, law, error, dq)
    return motor - law.torque(error, dq) - _dry_friction(motor, dq, effects, damping_cap)


def motor_torque(effects: Effects, law: PdLaw, error: np.ndarray, dq: np.ndarray) -> np.ndarray:
    """What the motor applies, before friction: PD through the play, within its speed limit, N·m."""
    half = effects.backlash / 2
    engaged = np.sign(error) * np.maximum(np.abs(error) - half, 0.0)
    return _speed_limited(law.torque(engaged, dq), dq, law.effort, effects)


def _speed_limited(
    torque: np.ndarray, dq: np.ndarray, effort: np.ndarray, effects: Effects
) -> np.ndarray:
    limited = np.isfinite(effects.no_load_speed)
    if not limited.any():
        return torque
    corner = np.where(limited, np.minimum(effects.corner_speed, effects.no_load_speed), 0.0)
    span = np.where(limited, effects.no_load_speed - corner, 1.0)
    left = np.clip((np.where(limited, effects.no_load_speed, 1.0) - np.abs(dq)) / span, 0.0, 1.0)
    driving = torque * dq > 0
    return np.where(limited & driving, np.clip(torque, -effort * left, effort * left), torque)


def _dry_friction(
    motor: np.ndarray, dq: np.ndarray, effects: Effects, damping_cap: np.ndarray
) -> np.ndarray:
    sticking = effects.stribeck_torque * np.exp(-((dq / effects.stribeck_speed) ** 2))
    limit = sticking + effects.load_friction * np.abs(motor)
    slope = np.minimum(limit / STICTION_SPEED, damping_cap)
    return np.clip(slope * dq, -limit, limit)
