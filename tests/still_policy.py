"""A quadruped that holds its stance whatever it sees: the smallest policy on its feet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gapless import Robot
from small_networks import linear

CONTRACT = """
network = "policy.onnx"
name = "{name}"
robot = "{robot}"
rate = 50
kp = {kp}
kd = {kd}

[action]
scale = {scale}

[commands.velocity]
lower = [-1, -1, -1]
upper = [1, 1, 1]

[[observation]]
terms = ["joint_pos_rel", "command", "projected_gravity"]
"""


GAINS = {"go2": {"kp": 80, "kd": 3}, "g1": {"kp": 400, "kd": 10}}
"""Stiff enough to stand for some seconds."""


def write_policy(
    folder: Path, action: float = 0.0, scale: float = 0.25, name: str = "still", robot: str = "go2"
) -> Path:
    """A policy whose every output is one number."""
    joints = len(Robot.load(robot).joints)
    linear(folder / "policy.onnx", np.zeros((joints + 6, joints)), np.full(joints, action))
    file = folder / "policy.toml"
    file.write_text(CONTRACT.format(scale=scale, name=name, robot=robot, **GAINS[robot]))
    return file
