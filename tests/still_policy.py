"""A quadruped that holds its stance whatever it sees: the smallest policy on its feet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from small_networks import linear

CONTRACT = """
network = "policy.onnx"
name = "{name}"
robot = "go2"
rate = 50
kp = 80
kd = 3

[action]
scale = {scale}

[commands.velocity]
lower = [-1, -1, -1]
upper = [1, 1, 1]

[[observation]]
terms = ["joint_pos_rel", "command", "projected_gravity"]
"""


def write_policy(
    folder: Path, action: float = 0.0, scale: float = 0.25, name: str = "still"
) -> Path:
    """A policy whose every output is one number."""
    linear(folder / "policy.onnx", np.zeros((18, 12)), np.full(12, action))
    file = folder / "policy.toml"
    file.write_text(CONTRACT.format(scale=scale, name=name))
    return file
