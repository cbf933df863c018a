"""Which joints have the same motor, as far as the robot's figures tell."""

from __future__ import annotations

import numpy as np

from gapless.robots import Robot


def motor_of(robot: Robot, joint: str) -> tuple[float, ...]:
    """What tells a joint's motor from others: equal for joints with the same motor.

    Joints whose limits and rotor inertia agree have the same; where no limit is stated, equal
    gains must do.
    """
    column = robot.joints.index(joint)
    limited = bool(np.isfinite(robot.joints.effort[column]))
    told = ("effort", "velocity", "armature", *(() if limited else ("kp", "kd")))
    return tuple(np.nan_to_num(getattr(robot.joints, f)[column], nan=-1.0).item() for f in told)


def motor_numbers(robot: Robot) -> tuple[int, ...]:
    """(J,) a number for each joint, the same for those with the same motor, from 0."""
    motors = [motor_of(robot, joint) for joint in robot.joints.names]
    known = list(dict.fromkeys(motors))
    return tuple(known.index(motor) for motor in motors)
