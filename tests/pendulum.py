"""A pendulum with a weak motor, and motions of it: the smallest robot that is worth a tracker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from gapless.motions import Motion
from gapless.robots import Robot

PENDULUM = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody><body name="rod">
<joint name="swing" axis="0 1 0" range="-3 3" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 -2" size="0.02" mass="0.01"/>
<body name="bob" pos="0 0 -2"><geom size="0.05" mass="0.5"/></body></body></worldbody>
<actuator><position joint="swing" kp="22" kv="8" forcerange="-60 60"/></actuator></mujoco>"""
RATE = 50.0


def pendulum(folder: Path) -> Robot:
    """Half a kilogram at the end of two metres; commanded to stand out, it sags."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pendulum.xml"
    file.write_text(PENDULUM)
    return Robot.load(str(file))


def weakened(robot: Robot, share: float) -> Robot:
    """The same with drives that make so much of every gain that they are told."""
    errors = {joint: (share, 1.0) for joint in robot.joints.names}
    return replace(robot.with_joints(kp=share * robot.joints.kp), gain_errors=errors)


def swings(seconds: float = 1.0, name: str = "swings", rate: float = RATE) -> Motion:
    """Out to the side, a little up and down."""
    time = np.arange(round(seconds * rate) + 1) / rate
    q = 1.2 + 0.3 * np.sin(2 * np.pi * time / 2.0)
    return Motion(name, ("swing",), rate, q[:, None])
