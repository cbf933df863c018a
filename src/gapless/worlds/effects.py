"""What real actuators add to a PD law: named figures, and the road a command takes.

Gains, effort limits, armature, Coulomb and viscous friction are native to MuJoCo and live in the
robot. Command delay, jitter and encoder bias only move the targets. The rest needs the state at
every physics step; `actuators.py` turns it into a torque, `dry_friction.py` into a bound.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gapless.errors import ModelError

PerJoint = Any
"""A number for all joints, or (J,) numbers in the robot's joint order."""

IMU = ("imu_roll", "imu_pitch", "gyro_x", "gyro_y", "gyro_z")
"""What is one number for a robot: how its IMU errs."""
SIGNED = {"encoder_bias", "ambient", "backdrive_friction"}
OPEN_ENDED = {"corner_speed", "no_load_speed"}
ABOVE_ZERO = {"stribeck_speed", "cooling"}
DRY = ("stribeck_torque", "load_friction", "backdrive_friction", "quadratic_friction")
"""Dry friction that depends on speed or load."""
UNHASHED_AT_ZERO = {"backdrive_friction", "quadratic_friction", *IMU}
"""Fields that came later: what was saved before has the same hash as now."""


@dataclass(frozen=True)
class Effects:
    """Per-joint effects, each a scalar or a (J,) array in the robot's joint order; and the IMU's.

    Those of the IMU are numbers, or (n,) arrays where environments differ.
    """

    delay: PerJoint = 0.0
    """Seconds between a command and its effect; any fraction of a step."""
    jitter: PerJoint = 0.0
    """Mean of the random time a command comes later still, s; all joints share one bus."""
    encoder_bias: PerJoint = 0.0
    """Reported minus true position, rad. The controller acts on the reported one."""
    stribeck_torque: PerJoint = 0.0
    """Dry friction at rest in excess of the moving one, N·m."""
    stribeck_speed: PerJoint = 0.1
    """Speed at which that excess has fallen to 1/e, rad/s."""
    load_friction: PerJoint = 0.0
    """Dry friction per transmitted torque, 1."""
    backdrive_friction: PerJoint = 0.0
    """How much more of it (less, where negative) when the load drives the motor, 1."""
    quadratic_friction: PerJoint = 0.0
    """Dry friction per square of the transmitted torque, 1/(N·m)."""
    corner_speed: PerJoint = np.inf
    """Speed above which the torque limit falls, rad/s."""
    no_load_speed: PerJoint = np.inf
    """Speed at which no driving torque is left, rad/s."""
    backlash: PerJoint = 0.0
    """Total gap between motor and joint, rad. The controller sees the motor, the log the joint."""
    compliance: PerJoint = 0.0
    """Angle between motor and joint per torque, rad/(N·m)."""
    heating: PerJoint = 0.0
    """How fast a motor at its effort limit warms, K/s; it grows with the square of the torque."""
    cooling: PerJoint = 300.0
    """Time constant of cooling to the ambient temperature, s."""
    heat_loss: PerJoint = 0.0
    """Share of the torque that is lost per kelvin above ambient, 1/K."""
    ambient: PerJoint = 25.0
    """Temperature around the motors, °C."""
    imu_roll: Any = 0.0
    """Turn about the base's x between its frame and the IMU's, rad."""
    imu_pitch: Any = 0.0
    """Turn about its y, rad."""
    gyro_x: Any = 0.0
    """What the gyro shows at rest about x, rad/s."""
    gyro_y: Any = 0.0
    """About y, rad/s."""
    gyro_z: Any = 0.0
    """About z, rad/s."""
    seed: int = 0
    """Of the jitter."""

    def __post_init__(self) -> None:
        for name in PER_JOINT:
            value = np.asarray(getattr(self, name), float)
            bad = np.isnan(value) | ((value < 0) & (name not in SIGNED))
            bad |= np.isinf(value) & (name not in OPEN_ENDED)
            bad |= (value == 0) & (name in ABOVE_ZERO)
            if bad.any():
                raise ModelError(f"effect {name} is {value}; expected finite numbers above 0")
        for name in IMU:
            if not np.isfinite(getattr(self, name)).all():
                raise ModelError(f"effect {name} is {getattr(self, name)}; expected finite numbers")
        falling = np.isfinite(self.corner_speed) & ~np.isfinite(self.no_load_speed)
        if np.any(falling):
            raise ModelError("corner_speed is where torque begins to fall; give no_load_speed too")

    def resolve(self, joints: int) -> Effects:
        """The same with every field a (J,) array."""
        for name in PER_JOINT:
            shape = np.shape(getattr(self, name))
            if shape not in ((), (joints,)):
                raise ModelError(
                    f"effect {name} has shape {shape}; expected a number or {joints} numbers, "
                    "one a joint"
                )
        values = {
            name: np.broadcast_to(np.asarray(getattr(self, name), float), joints)
            for name in PER_JOINT
        }
        return replace(self, **values)

    @property
    def imu_errs(self) -> bool:
        """True where the log's view of the base is not the base."""
        return any(bool(np.any(getattr(self, name))) for name in IMU)

    @property
    def needs_torque(self) -> bool:
        """True where an effect depends on the state inside a control step."""
        return bool(
            self.varies_dry_friction or np.any(np.isfinite(self.no_load_speed)) or self.needs_memory
        )

    @property
    def varies_dry_friction(self) -> bool:
        """True where dry friction depends on speed or load."""
        return any(bool(np.any(getattr(self, name))) for name in DRY)

    @property
    def needs_memory(self) -> bool:
        """True where the torque depends on the past: where the motor is, and how warm."""
        return bool(np.any(self.backlash) or np.any(self.compliance) or np.any(self.heating))

    def of_environments(self, which: slice) -> Effects:
        """Those of some environments, where they differ: fields of shape (n, J)."""
        values = {f: np.asarray(getattr(self, f)) for f in (*PER_JOINT, *IMU)}
        own = {f: v[which] for f, v in values.items() if v.ndim == (1 if f in IMU else 2)}
        return replace(self, **own)

    def fingerprint(self) -> str:
        """Hash of all values, resolved; empty for the ideal actuator."""
        if self == Effects(seed=self.seed).resolve(len(np.atleast_1d(self.delay))):
            return ""
        values = {name: np.asarray(getattr(self, name), float) for name in (*PER_JOINT, *IMU)}
        parts = [
            v.tobytes() for name, v in values.items() if name not in UNHASHED_AT_ZERO or v.any()
        ]
        parts.append(str(self.seed).encode())
        return hashlib.sha256(b"|".join(parts)).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Effects) and all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]


PER_JOINT = tuple(f.name for f in fields(Effects) if f.name not in ("seed", *IMU))


def spread_over_substeps(
    targets: np.ndarray,
    history: np.ndarray,
    delay: np.ndarray,
    rate: float,
    substeps: int,
    late: np.ndarray | None = None,
) -> np.ndarray:
    """Hold each target for its control step, `delay` seconds late, at the physics rate.

    Args:
        targets: (n, T, J).
        history: (n, H, J) the targets before, newest last; the oldest is held further back.
        delay: (J,) seconds, or (n, J) where environments differ.
        rate: control steps per second.
        substeps: physics steps per control step.
        late: (n, H + T) seconds by which each command comes later still, or None.

    Returns:
        (n, T * substeps, J) the target in force in each physics step; where a new one comes within
        the step, both by the time they have, so that the motion changes smoothly with the delay.
    """
    if late is not None and late.any():
        return _spread_with_jitter(targets, history, delay * rate, substeps, late * rate)
    if not delay.any():
        return np.repeat(targets, substeps, axis=1)
    known = np.concatenate([history, targets], axis=1)
    steps = targets.shape[1] * substeps
    seconds = np.unique(delay)
    if len(seconds) == 1:
        return _delayed(known, history.shape[1], float(seconds[0]) * rate, steps, substeps)
    out = np.empty((len(known), steps, known.shape[2]))
    for value in seconds:
        found = _delayed(known, history.shape[1], float(value) * rate, steps, substeps)
        np.copyto(out, found, where=np.broadcast_to(delay == value, known[:, 0].shape)[:, None])
    return out


def _delayed(known: np.ndarray, before: int, delay: float, steps: int, substeps: int) -> np.ndarray:
    """All commands one delay (control steps) late."""
    behind = np.arange(1, steps + 1) / substeps - delay
    # The small number keeps a delay of whole physics steps from slipping by one through rounding.
    newest = np.ceil(behind - 1e-9) - 1
    share = np.clip((behind - newest) * substeps, 0.0, 1.0)[:, None]
    row = newest.astype(int) + before
    now = known[:, np.clip(row, 0, None)]
    if (share > 1 - 1e-9).all():
        return now
    return share * now + (1 - share) * known[:, np.clip(row - 1, 0, None)]


def _spread_with_jitter(
    targets: np.ndarray, history: np.ndarray, delay: np.ndarray, substeps: int, late: np.ndarray
) -> np.ndarray:
    """In force is the newest command that has arrived; delay and late are in control steps."""
    known = np.concatenate([history, targets], axis=1)
    steps, before = targets.shape[1] * substeps, history.shape[1]
    sent = np.arange(known.shape[1]) - before
    rows = np.arange(len(known))[:, None]
    out = np.empty((len(known), steps, known.shape[2]))
    for seconds in np.unique(delay):
        arrival = (sent + late + seconds) * substeps
        slot = np.floor(arrival + 1e-9).astype(int) + 1  # slot 0: before the first physics step
        newest = np.zeros((len(known), steps + 1), int)
        there = np.where(slot <= steps, np.clip(slot, 0, None), 0)
        order = np.where(slot <= steps, np.arange(known.shape[1]), 0)
        np.maximum.at(newest, (rows, there), order)
        newest = np.maximum.accumulate(newest, axis=1)
        share = np.arange(1, steps + 1) - arrival[rows, newest[:, 1:]]
        share = np.clip(share, 0.0, 1.0)[..., None]
        same = delay == seconds
        now, older = known[rows, newest[:, 1:]], known[rows, newest[:, :-1]]
        out[:, :, same] = (share * now + (1 - share) * older)[:, :, same]
    return out
