"""How deep a standing robot sinks into the floor: contacts give way under its weight."""

from __future__ import annotations

import numpy as np

from gapless.robots import Robot

DEEPEST = 0.01
"""Looked for down to this, m."""
HALVINGS = 16


def sinking(robot: Robot, q: np.ndarray, pos: np.ndarray, quat: np.ndarray) -> float:
    """Depth at which MuJoCo's contacts carry the robot at rest, m.

    A start that only touches the floor drops by this much and bounces.

    Args:
        robot: mounted free, on a level floor.
        q: (J,) joint positions.
        pos: (3,) of the base while the lowest point touches the floor.
        quat: (4,) wxyz.
    """
    import mujoco

    model = robot.model()
    data = mujoco.MjData(model)
    data.qpos[:7] = [*pos, *quat]
    for name, angle in zip(robot.joints.names, q, strict=True):
        data.qpos[model.joint(name).qposadr[0]] = angle
    above, below = 0.0, DEEPEST
    for _ in range(HALVINGS):
        depth = (above + below) / 2
        data.qpos[2] = pos[2] - depth
        mujoco.mj_inverse(model, data)
        # What would have to hold the base at rest beside the contacts: upward while they are weak.
        above, below = (depth, below) if data.qfrc_inverse[2] > 0 else (above, depth)
    return above
