"""What a robot's motors can hold: how heavy a load may be before anything is known of it."""

from __future__ import annotations

import mujoco
import numpy as np

from gapless.robots import Robot

GRAVITY = 9.81
GENEROUS = 3.0
"""How many times what the stretched-out limb holds a load may weigh: few poses are the worst."""


def strength(robot: Robot, joint: str) -> float:
    """The torque limit of a joint, or what its gain gives at one radian, N·m."""
    column = robot.joints.index(joint)
    effort, gain = robot.joints.effort[column], robot.joints.kp[column]
    return float(effort if 0 < effort < np.inf else gain or 1.0)


def heaviest_load(robot: Robot, link: str) -> float:
    """The largest mass that a link may be thought to carry, kg.

    It follows from the motors between the link and where the robot is held. Where there are none
    (the trunk of a free robot), or a stance needs hardly any torque, it is the robot's own mass.
    """
    own = sum(robot.inertia(name).mass for name in robot.links)
    held = holding_mass(robot, link)
    return max(GENEROUS * held if np.isfinite(held) else 0.0, own, 0.1)


def holding_mass(robot: Robot, link: str) -> float:
    """The mass at a link's centre that every motor under it holds with the limb stretched, kg."""
    model = robot.unloaded_model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    body, reach, here = model.body(link).id, 0.0, data.body(link).xipos
    least = np.inf
    while body:  # from the link to where the robot is held
        first, count = model.body_jntadr[body], model.body_jntnum[body]
        for joint in range(first + count - 1, first - 1, -1):
            name = model.joint(joint).name
            if model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_HINGE or (
                name not in robot.joints.names
            ):
                continue
            reach += float(np.linalg.norm(data.xanchor[joint] - here))
            here = data.xanchor[joint]
            least = min(least, strength(robot, name) / (GRAVITY * max(reach, 0.01)))
        body = model.body_parentid[body]
    return least
