"""Inverse kinematics along a path, with mink."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from gapless.errors import MissingExtraError
from gapless.motions.limits import position_limits
from gapless.robots import Robot
from gapless.robots.build import HOME, compile_spec
from gapless.robots.joints import TrackingPoint

POSTURE = 0.01
"""Weight of the default pose against the path: enough to decide what the path leaves open."""
LEVEL = 0.02
"""Weight of the point's orientation in the default pose: a foot stays level as far as it can."""
BENT = 0.2
"""The search starts this share of the way to the middle of the joints' ranges: a straight limb is
stuck, as no small move of a joint shortens it."""
ROOM = 0.02
"""Share of each joint's range that stays unused at either end."""
STEPS = 40
"""Most iterations for one point of the path."""
SETTLED = 1e-5
"""A pose that moves less than this in an iteration, rad, is found."""


def follow(
    robot: Robot, point: TrackingPoint, path: np.ndarray, level: float = LEVEL
) -> np.ndarray:
    """(T, J) poses that bring a point of the robot along a path, its root fixed.

    Each pose is found from the one before, so the joints move continuously; joint limits hold. A
    path out of reach is followed as near as can be: the caller compares.

    Args:
        robot: its default pose is the start and what the path leaves open.
        point: what moves.
        path: (T, 3) positions in the world, m.
        level: weight of the point's orientation in the default pose.
    """
    if find_spec("mink") is None:
        raise MissingExtraError("mink", "motions", "inverse kinematics")
    import mink

    spec = robot.with_mount("fixed").spec()
    spec.body(point.body).add_site(name="followed", pos=point.offset)
    model = compile_spec(spec)
    joints = np.array([model.joint(name).id for name in robot.joints.names])
    bounds = np.stack(position_limits(robot, ROOM), axis=1)
    limited = np.isfinite(bounds).all(axis=1)
    model.jnt_range[joints[limited]] = bounds[limited]
    home = model.key(HOME).qpos
    configuration = mink.Configuration(model, home)
    upright = configuration.get_transform_frame_to_world("followed", "site").rotation()
    configuration.update(
        home + BENT * np.where(model.jnt_limited, model.jnt_range.mean(1) - home, 0)
    )
    reach = mink.FrameTask("followed", "site", position_cost=1.0, orientation_cost=level)
    posture = mink.PostureTask(model, cost=POSTURE)
    posture.set_target(home)
    limits = [mink.ConfigurationLimit(model)]
    poses = np.empty((len(path), len(joints)))
    for t, place in enumerate(path):
        reach.set_target(mink.SE3.from_rotation_and_translation(upright, place))
        for _ in range(STEPS):
            velocity = mink.solve_ik(
                configuration, [reach, posture], 1.0, "daqp", 1e-6, limits=limits
            )
            configuration.integrate_inplace(velocity, 1.0)
            if np.abs(velocity).max() < SETTLED:
                break
        poses[t] = configuration.q[model.jnt_qposadr[joints]]
    return poses
