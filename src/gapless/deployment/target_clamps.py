"""Clamps: a command brought within the limits of the joints, and which joints needed it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_events import Trip
from gapless.deployment.safety_limits import JointLimits, SafetyLimits

NEAR = 1e-9
"""Rounding is no clamping."""


@dataclass(frozen=True, eq=False)
class Clamped:
    """A command within the limits.

    Attributes:
        command: that may be sent.
        trips: one a check that changed it.
        joints: (J,) True where it was changed.
    """

    command: JointCommand
    trips: tuple[Trip, ...]
    joints: np.ndarray


def clamp_command(
    limits: SafetyLimits,
    joints: JointLimits,
    state: LinkState,
    command: JointCommand,
    last: np.ndarray,
) -> Clamped:
    """Bring a finite command within the limits.

    Args:
        limits: of the robot.
        joints: its figures, in the order of the command.
        state: where it is.
        command: what is wanted.
        last: (J,) targets in force, rad; a step that is late allows them no longer way.
    """
    trips, touched = [], np.zeros(len(joints.names), bool)
    for check, clamp in (
        ("target_velocity", lambda c: _velocity(limits, joints, c)),
        ("target_position", lambda c: _position(limits, joints, c)),
        ("target_rate", lambda c: _rate(limits, joints, c, last)),
        ("target_torque", lambda c: _torque(limits, joints, c, state)),
        ("power", lambda c: _power(limits, c, state)),
    ):
        if not limits.on(check):
            continue
        new, excess = clamp(command)
        if excess is NONE:
            continue
        command, changed = new, excess > NEAR
        if changed.any():
            worst = int(np.argmax(excess))
            why = f"{excess[worst]:.4g} too much"
            trips.append(
                Trip(check, float(excess[worst]), limits.limit(check), joints.names[worst], why)
            )
            touched |= changed
    return Clamped(command, tuple(trips), touched)


Change = tuple[JointCommand, np.ndarray]
"""A command within a limit, and (J,) by how much each joint was beyond it."""
NONE = np.zeros(0)
"""No joint was beyond it: the command is the very same."""


def _velocity(limits: SafetyLimits, joints: JointLimits, command: JointCommand) -> Change:
    most = limits.limit("target_velocity") * joints.velocity
    dq = _between(command.dq, -most, most)
    if dq is command.dq:
        return command, NONE
    return replace(command, dq=dq), np.abs(command.dq - dq)


def _position(limits: SafetyLimits, joints: JointLimits, command: JointCommand) -> Change:
    margin = limits.limit("target_position")
    q = _between(command.q, joints.lower - margin, joints.upper + margin)
    if q is command.q:
        return command, NONE
    return replace(command, q=q), _drawn(command, q)


def _rate(
    limits: SafetyLimits, joints: JointLimits, command: JointCommand, last: np.ndarray
) -> Change:
    way = limits.limit("target_rate") * joints.rate / limits.rate
    q = _between(command.q, last - way, last + way)
    if q is command.q:
        return command, NONE
    return replace(command, q=q), _drawn(command, q)


def _between(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Values brought between bounds; the very same array where all of them were."""
    within = np.minimum(np.maximum(values, low), high)
    return values if (within == values).all() else within


def _drawn(command: JointCommand, q: np.ndarray) -> np.ndarray:
    """How far targets were moved, of joints that they draw at all: a braking one has none."""
    return np.where(command.kp > 0, np.abs(command.q - q), 0.0)


def _torque(
    limits: SafetyLimits, joints: JointLimits, command: JointCommand, state: LinkState
) -> Change:
    most = limits.limit("target_torque") * joints.torque
    drive, brake = _parts(command, state)
    # Only what drives is taken back: a motor that brakes at its limit is doing its best.
    kept = _between(drive, np.minimum(-most - brake, 0.0), np.maximum(most - brake, 0.0))
    if kept is drive:
        return command, NONE
    return _with_drive(command, state, drive, kept), np.abs(drive - kept)


def _power(limits: SafetyLimits, command: JointCommand, state: LinkState) -> Change:
    drive, brake = _parts(command, state)
    watts = np.maximum((drive + brake) * state.dq, 0.0)
    total, most = float(watts.sum()), limits.limit("power")
    if total <= most:
        return command, NONE
    share = most / total
    wanted = share * drive + (share - 1.0) * brake
    within = np.clip(wanted, np.minimum(drive, 0.0), np.maximum(drive, 0.0))
    kept = np.where(watts > 0, within, drive)
    return _with_drive(command, state, drive, kept), np.where(watts > 0, watts * (1 - share), 0.0)


def _parts(command: JointCommand, state: LinkState) -> tuple[np.ndarray, np.ndarray]:
    """Torques towards the target and against the speed, N·m."""
    drive = command.kp * (command.q - state.q) + command.tau
    return drive, command.kd * (command.dq - state.dq)


def _with_drive(
    command: JointCommand, state: LinkState, drive: np.ndarray, kept: np.ndarray
) -> JointCommand:
    """The same with a smaller drive: the target nearer to the joint, the added torque less."""
    share = np.divide(kept, drive, out=np.ones_like(drive), where=drive != 0)
    q = np.where(share < 1, state.q + share * (command.q - state.q), command.q)
    return replace(command, q=q, tau=share * command.tau)
