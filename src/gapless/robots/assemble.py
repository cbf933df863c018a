"""A robot as a MuJoCo model: its mount, its locks and its loads applied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.robots import build
from gapless.robots.inertia import Floor, Pose
from gapless.robots.rotations import mul, rotate
from gapless.robots.simple_feet import put_on_spheres
from gapless.robots.support_shapes import SupportShape, floor_shapes
from gapless.robots.tree import Tree

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


def assemble(robot: Robot) -> mujoco.MjSpec:
    """The model of a robot, ready to compile."""
    body = robot.body
    spec = tree_spec(robot, body) if isinstance(body, Tree) else body.spec(robot)
    build.set_options(spec)
    build.set_joints(spec, robot.joints)
    build.set_base(spec)
    build.add_actuators(spec, robot.joints)
    build.set_inertias(spec, robot.inertias, robot.payloads)
    put_on_spheres(spec, robot.simple_feet)
    build.set_contacts(spec, robot.self_collision)
    build.move_shapes(spec, robot.soles)
    if robot.meets_floor:
        build.add_floor(spec, robot.floor, _floor_pose(spec, robot))
    build.add_home(spec, robot.joints, np.array([0.0, 0.0, robot.standing_height]))
    return spec


def tree_spec(robot: Robot, tree: Tree) -> mujoco.MjSpec:
    """Bodies, joints and shapes of a table robot in its mount."""
    spec = build.new_spec(robot.name)
    tree = tree.locked(robot.locked)
    if robot.mount in ("free", "fixed"):
        build.add_tree(spec, tree.placed((0.0, 0.0, robot.standing_height), UPRIGHT))
        if robot.mount == "free":
            spec.body(robot.root).add_freejoint(name=build.FREE_JOINT)
    else:
        build.add_tree(spec, tree.rerooted(robot.mount).placed(*home_pose(robot, robot.mount)))
    return spec


def _floor_pose(spec: mujoco.MjSpec, robot: Robot) -> Pose:
    if robot.mount == "free":
        return np.zeros(3), robot.floor.quat_wxyz
    return held_floor(build.compile_spec(spec), robot)


def held_floor(model: mujoco.MjModel, robot: Robot) -> Pose:
    """Where the plane is that a held robot meets: stated in the frame of the link that is held."""
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    held = data.body(robot.root if robot.mount == "fixed" else robot.mount)
    pos, quat = robot.floor.pose
    return held.xpos + rotate(held.xquat, pos), mul(held.xquat, quat)


def home_pose(robot: Robot, link: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Where a link is while the robot stands upright in its default pose."""
    from gapless.robots.kinematics import Kinematics

    kinematics = Kinematics.of(replace(robot, mount="fixed", payloads={}))
    pos, quat = kinematics.link_poses(robot.joints.default)
    column = kinematics.links.index(link)
    return tuple(pos[0, column].tolist()), tuple(quat[0, column].tolist())


def standing_height(robot: Robot) -> float:
    """Height of the root, upright in the default pose: as it was given, or where the shapes say.

    On a slope a free robot is never lower than the shapes say, whatever was given.
    """
    if robot.height is None:
        return _touching_height(robot)
    sloped = robot.mount == "free" and robot.floor.slope
    return max(robot.height, _touching_height(robot)) if sloped else robot.height


def _touching_height(robot: Robot) -> float:
    """Height of the root at which the lowest shape touches the floor, steps aside."""
    import mujoco

    # A robot that is held hangs where its body's own shapes say, however it would stand.
    feet = robot.simple_feet if robot.mount == "free" else ()
    bare = replace(robot, mount="fixed", height=0.0, payloads={}, floor=Floor(), simple_feet=feet)
    model = bare.model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(build.HOME).id)
    mujoco.mj_kinematics(model, data)
    floor = robot.floor if robot.mount == "free" else Floor()
    up = rotate(floor.quat_wxyz, np.array([0.0, 0.0, 1.0]))
    bottoms = (_bottom(data, shape, up) for shape in floor_shapes(model))
    return -min(bottoms, default=0.0) / up[2]


def _bottom(data: mujoco.MjData, shape: SupportShape, up: np.ndarray) -> float:
    """Height of the lowest point of a shape along a direction."""
    body = data.body(shape.link)
    return float(body.xpos @ up - shape.reach(-up @ body.xmat.reshape(3, 3)))
