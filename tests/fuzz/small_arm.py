"""An arm of two joints, and what a log of it would hold: the valid start of every damaged file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from gapless.motions import Motion
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from raw_logs import commands

JOINTS = ("hip", "knee")
RATE, SAMPLES, LAG = 50.0, 150, 0.04
MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="hip" axis="0 1 0" range="-1.5 1.5" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.3"/>
<body name="lower" pos="0 0 0.2"><joint name="knee" axis="0 1 0" range="-1.5 1.5" armature="0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" mass="0.2"/></body></body></worldbody>
<actuator><position joint="hip" kp="20" kv="1" forcerange="-10 10"/>
<position joint="knee" kp="20" kv="1" forcerange="-10 10"/></actuator></mujoco>"""


@cache
def arm() -> Robot:
    """The arm, from a file that is gone again."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.xml")
        path.write_text(MJCF)
        return Robot.load(str(path), mount="fixed")


@cache
def robot_named(name: str, mount: str | None = None) -> Robot:
    """A built-in robot, loaded once."""
    return Robot.load(name, mount=mount)


def wave(robot: Robot, samples: int = SAMPLES, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Time, positions and commands; joints follow their commands two samples late."""
    time = np.arange(samples) / RATE
    noise = 1e-4 * np.random.default_rng(seed).normal(size=(samples, len(robot.joints)))
    return time, commands(robot, time - LAG, seed) + noise, commands(robot, time, seed)


def clip(name: str = "wave", seed: int = 0, samples: int = SAMPLES) -> Recording:
    """A recording of the arm."""
    _, q, target = wave(arm(), samples, seed)
    return Recording(name, JOINTS, RATE, q, target, np.ones(q.shape, bool), {"dq": 0 * q})


def motion(robot: Robot, seconds: float = 1.0) -> Motion:
    """The default pose, held; on its feet where it has feet."""
    frames = round(seconds * 30)
    q = np.tile(robot.joints.default, (frames, 1))
    if robot.mount != "free":
        return Motion("still", robot.joints.names, 30.0, q)
    base = np.tile([0.0, 0.0, robot.standing_height], (frames, 1))
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1))
    return Motion("still", robot.joints.names, 30.0, q, base, turn)
