"""Checks of one sample and of one command: what needs no memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.deployment.safety_events import Trip
from gapless.deployment.safety_limits import KINDS, JointLimits, SafetyLimits

_READ = ("q", "dq", "torque", "base_quat_wxyz", "base_ang_vel_b", "base_pos")
"""What must be numbers in a sample, where it is there."""


def state_trips(limits: SafetyLimits, joints: JointLimits, state: LinkState) -> Iterator[Trip]:
    """What is wrong with a sample by itself, the gravest first."""
    yield from _unreadable(state, len(joints.names))
    yield from _blind(limits, state)
    beyond = np.maximum(joints.lower - state.q, state.q - joints.upper)
    yield from _worst(limits, joints, "position", beyond)
    yield from _worst(limits, joints, "velocity", np.abs(state.dq) / joints.velocity)
    if state.torque is not None:
        yield from _worst(limits, joints, "torque", np.abs(state.torque) / joints.torque)
    if state.temperature is not None:
        yield from _worst(limits, joints, "temperature", state.temperature)
    if state.motor_fault is not None:
        yield from _worst(limits, joints, "motor_fault", state.motor_fault)
    if state.base_quat_wxyz is not None:
        yield from _over(limits, "tilt", tilt_of(state.base_quat_wxyz))
    if state.base_pos is not None:
        yield from _under(limits, "height", float(state.base_pos[2]))
    if state.voltage is not None:
        yield from _under(limits, "voltage", state.voltage)


def command_trips(
    limits: SafetyLimits, joints: JointLimits, command: JointCommand
) -> Iterator[Trip]:
    """What is so wrong with a command that no clamp mends it."""
    if not _is_plain(command, len(joints.names)):
        yield from _broken(joints, command)
    if command.output is not None:
        largest = float(np.abs(command.output).max(initial=0.0))
        yield from _over(limits, "output", largest)


def _is_plain(command: JointCommand, count: int) -> bool:
    """Whether all numbers are there, finite, and gains not negative: asked twice in every step."""
    arrays = command.q, command.dq, command.tau, command.kp, command.kd
    if any(np.shape(array) != (count,) for array in arrays):
        return False
    numbers = np.concatenate(arrays)
    return bool(np.isfinite(numbers).all() and numbers[3 * count :].min(initial=0.0) >= 0)


def _broken(joints: JointLimits, command: JointCommand) -> Iterator[Trip]:
    """Which of its numbers are none."""
    for name in ("q", "dq", "kp", "kd", "tau"):
        array = np.asarray(getattr(command, name))
        if array.shape != (len(joints.names),):
            yield Trip("finite", np.nan, 0.0, why=f"{name} of the command has shape {array.shape}")
        elif not np.isfinite(array).all() or (name in ("kp", "kd") and (array < 0).any()):
            bad = int(np.argmin(np.isfinite(array) & ((array >= 0) | (name[0] != "k"))))
            yield Trip(
                "finite", float(array[bad]), 0.0, joints.names[bad], f"{name} is {array[bad]}"
            )


def tilt_of(quat_wxyz: np.ndarray) -> float:
    """Angle of the base from upright, rad; NaN where the numbers are no orientation."""
    w, x, y, z = map(float, quat_wxyz)
    size = math.sqrt(w * w + x * x + y * y + z * z)
    if not 0.9 < size < 1.1:
        return float("nan")
    upwards = 1.0 - 2.0 * (x * x + y * y) / size**2
    return math.acos(min(max(upwards, -1.0), 1.0))


def _unreadable(state: LinkState, count: int) -> Iterator[Trip]:
    found = {name: array for name in _READ if (array := getattr(state, name)) is not None}
    if not np.isfinite(np.concatenate([*found.values()], axis=None)).all():
        bad = next(name for name, array in found.items() if not np.isfinite(array).all())
        yield Trip("finite", np.nan, 0.0, why=f"{bad} of the robot is not finite")
    if state.q.shape != (count,) or state.dq.shape != (count,):
        yield Trip(
            "finite", np.nan, 0.0, why=f"the robot shows {state.q.shape} joints, not {count}"
        )


def _blind(limits: SafetyLimits, state: LinkState) -> Iterator[Trip]:
    """A check that was asked for and cannot be made is a check that trips."""
    for name, kind in KINDS.items():
        if kind.channel and limits.on(name) and getattr(state, kind.channel) is None:
            yield Trip(name, np.nan, limits.limit(name), why=f"the robot sends no {kind.channel}")


def _worst(
    limits: SafetyLimits, joints: JointLimits, check: str, values: np.ndarray
) -> Iterator[Trip]:
    """The joint that is furthest beyond, if any is; what is no number is beyond."""
    if not limits.on(check) or (np.asarray(values) <= limits.limit(check)).all():
        return
    worst = int(np.argmax(np.nan_to_num(values, nan=np.inf)))
    yield Trip(check, float(values[worst]), limits.limit(check), joints.names[worst])


def _over(limits: SafetyLimits, check: str, value: float) -> Iterator[Trip]:
    if limits.on(check) and not value <= limits.limit(check):
        yield Trip(check, value, limits.limit(check))


def _under(limits: SafetyLimits, check: str, value: float) -> Iterator[Trip]:
    if limits.on(check) and not value >= limits.checks[check].limit:
        yield Trip(check, value, limits.limit(check))
