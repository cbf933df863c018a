"""Check a motion before a robot is asked to do it."""

from __future__ import annotations

import numpy as np

from gapless.errors import DataError
from gapless.motions.collisions import overlaps
from gapless.motions.motion import Motion
from gapless.motions.response import respond
from gapless.motions.support import balance
from gapless.motions.violations import Kind, MotionReport, Violation
from gapless.robots import Robot

POSES = 50.0
"""Poses a second that are checked for collisions and balance, Hz."""


def check_motion(motion: Motion, robot: Robot, *, margin: float = 0.0) -> MotionReport:
    """Check a motion against the robot's limits, self-collision and tipping.

    Positions are those commanded. Velocity and torque are those of the nominal simulated robot
    under these commands, hung by its root if it is free: so a step, whose own speed is infinite,
    is judged by what it does to the motors; a torque above the limit is one that saturates.
    Collisions (see `collisions.overlaps`) and tipping (see `support.balance`; mount "free" only)
    are coarse screens.

    Args:
        motion: its joints are matched by name; others stay at the default pose.
        robot: gives limits, gains, payloads and mount.
        margin: share of each joint's range, speed and torque that must stay unused.

    Returns:
        One violation for each joint and kind, at the moment it is worst.
    """
    if not 0 <= margin < 1:
        raise DataError(f"margin is {margin}; give a share of the limits, from 0 to below 1")
    found, peaks = check_joints(motion, robot, margin)
    return MotionReport(found + check_poses(motion, robot), peaks, robot.joints.names)


def check_joints(
    motion: Motion, robot: Robot, margin: float
) -> tuple[list[Violation], dict[str, np.ndarray]]:
    """The violations of positions, velocities and torques, and the peaks of all joints."""
    targets, effort = motion.targets(robot), robot.joints.effort
    response = respond(robot, targets, motion.rate)
    speed, torque = np.abs(response.dq), np.abs(response.torque)
    most = (1 - margin) * np.array([robot.joints.velocity, np.where(effort > 0, effort, np.inf)])
    found = check_positions(targets, motion.rate, robot, margin)
    found += _too_much("velocity", speed, response.rate, most[0], "rad/s", robot)
    found += _too_much("torque", torque, response.rate, most[1], "N·m", robot)
    peaks = {"velocity": speed.max(axis=0), "torque": torque.max(axis=0)}
    return found, {"lower": targets.min(axis=0), "upper": targets.max(axis=0), **peaks}


def position_limits(robot: Robot, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits drawn in by a share of the range, but never past the default pose."""
    joints = robot.joints
    span = joints.upper - joints.lower
    draw = margin * np.where(np.isfinite(span), span, 0.0)
    home = np.clip(joints.default, joints.lower, joints.upper)
    return np.minimum(joints.lower + draw, home), np.maximum(joints.upper - draw, home)


def check_positions(
    targets: np.ndarray, rate: float, robot: Robot, margin: float = 0.0
) -> list[Violation]:
    """The joints that (T, J) targets command beyond their range."""
    lower, upper = position_limits(robot, margin)
    beyond = np.maximum(targets - upper, lower - targets)
    found = []
    for j in np.flatnonzero(beyond.max(axis=0) > 1e-9):
        t = int(beyond[:, j].argmax())
        value = float(targets[t, j])
        limit = float(upper[j] if value > upper[j] else lower[j])
        found.append(Violation("position", robot.joints.names[j], t / rate, value, limit, "rad"))
    return found


def check_poses(motion: Motion, robot: Robot) -> list[Violation]:
    """Collisions between links and, for a free robot, tipping."""
    every = max(1, round(motion.rate / POSES))
    rate, q = motion.rate / every, motion.targets(robot)[::every]
    found = [
        _worst("collision", " / ".join(pair), depth, rate)
        for pair, depth in overlaps(robot, q).items()
    ]
    if robot.mount != "free":
        return found
    base = [None if b is None else b[::every] for b in (motion.base_pos, motion.base_quat_wxyz)]
    standing = balance(robot, q, rate, *base)
    if standing is None or standing.outside.max() <= 0:
        return found
    down = standing.down[standing.outside.argmax()]
    feet = " / ".join(f for f, on in zip(standing.feet, down, strict=True) if on)
    return [*found, _worst("tipping", feet, standing.outside, rate)]


def _worst(kind: Kind, joint: str, values: np.ndarray, rate: float) -> Violation:
    t = int(values.argmax())
    return Violation(kind, joint, t / rate, float(values[t]), 0.0, "m")


def _too_much(
    kind: Kind, values: np.ndarray, rate: float, limit: np.ndarray, unit: str, robot: Robot
) -> list[Violation]:
    found = []
    for j in np.flatnonzero(values.max(axis=0) > limit):
        t = int(values[:, j].argmax())
        name = robot.joints.names[j]
        found.append(Violation(kind, name, t / rate, float(values[t, j]), float(limit[j]), unit))
    return found
