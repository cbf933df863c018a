"""One environment: a robot in a PhysX scene of its own."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from gapless.robots.rotations import rotate
from gapless.worlds.packing import StateLayout
from gapless.worlds.physx.contact_shapes import ContactShape
from gapless.worlds.physx.description import PhysxDescription, PhysxHinge, PhysxLink
from gapless.worlds.physx.library import POSITION_ITERATIONS, VELOCITY_ITERATIONS, load_sapien

LIMIT_MARGIN = 1e-4
"""How far beyond a start outside its limits a joint's limit is put, rad: PhysX throws a joint that
is placed beyond one back with a blow."""

FASTEST = 1e9
"""Limit of all speeds, which PhysX would else clip at 100 rad/s and hide a divergence."""

HOLDING = 1e6
"""N·m·s/rad of the drive that is dry friction: at any torque within its limit the joint stands."""

X_ONTO_Z = np.array([np.sqrt(0.5), 0.0, -np.sqrt(0.5), 0.0])
"""PhysX has capsules and the normals of planes along x, MuJoCo along z."""


class PhysxScene:
    """A scene that is built for one start and thrown away: contacts outlive a teleport.

    Args:
        plan: what is built.
        names: the robot's joints in its order.
        layout: columns of the packed state.
        start: packed state to begin with.

    Attributes:
        order: (J,) PhysX's joints among the robot's.
        centre: (3,) of mass of the root, in its frame.
    """

    def __init__(
        self, plan: PhysxDescription, names: tuple[str, ...], layout: StateLayout, start: np.ndarray
    ) -> None:
        self._layout, self._free = layout, plan.free
        self.centre = plan.links[0].inertia.centre[0]
        self._scene = new_scene(plan)
        position = dict(zip(names, start[layout.q], strict=True))
        self._robot = _build_robot(self._scene, plan, position)
        joints = self._robot.active_joints
        self.order = np.array([names.index(joint.name) for joint in joints], int)
        self._step = self._scene.physx_system.step  # what is called most is looked up once
        self._set_armature = [joint.set_armature for joint in joints]
        self._set_drive = [joint.set_drive_properties for joint in joints]
        self._armature, self._dry = [np.nan] * len(names), [0.0] * len(names)
        self._place(start)

    def advance(
        self, torque: np.ndarray, dry: list[float], armature: list[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """One physics step, all in PhysX's order of joints; told is only what changed.

        Args:
            torque: (J,) N·m.
            dry: friction that holds or slows, N·m.
            armature: kg·m².

        Returns:
            (J,) positions and velocities.
        """
        if armature != self._armature:
            self._change_armature(armature)
        if dry != self._dry:
            self._change_friction(dry)
        self._robot.set_qf(torque)
        self._step()
        return self._robot.get_qpos(), self._robot.get_qvel()

    def _change_armature(self, armature: list[float]) -> None:
        for change, new, old in zip(self._set_armature, armature, self._armature, strict=True):
            if new != old:
                change([new])
        self._armature = armature

    def _change_friction(self, dry: list[float]) -> None:
        for change, new, old in zip(self._set_drive, dry, self._dry, strict=True):
            if new != old:
                change(0.0, HOLDING, new)
        self._dry = dry

    def push(self, velocity: np.ndarray) -> None:
        """Add a (6,) velocity, m/s, and turning rate, rad/s, to the root, and so to all links."""
        robot, quat = self._robot, np.asarray(self._robot.get_root_pose().q, float)
        spin = rotate(quat, velocity[3:])
        speed = velocity[:3] + np.cross(spin, rotate(quat, self.centre))
        robot.set_root_linear_velocity(robot.get_root_linear_velocity() + speed)
        if spin.any():
            robot.set_root_angular_velocity(robot.get_root_angular_velocity() + spin)

    def root(self) -> np.ndarray:
        """(13,) position, orientation, velocity of the centre of mass and spin in the world."""
        robot = self._robot
        pose = robot.get_root_pose()
        speed, spin = robot.get_root_linear_velocity(), robot.get_root_angular_velocity()
        return np.concatenate([pose.p, pose.q, speed, spin])

    def _place(self, start: np.ndarray) -> None:
        """PhysX knows the velocity of the root's centre of mass, we that of its origin."""
        layout, robot = self._layout, self._robot
        if self._free:
            quat, v = start[4:8] / np.linalg.norm(start[4:8]), 1 + layout.nq
            spin = rotate(quat, start[v + 3 : v + 6])
            speed = start[v : v + 3] + np.cross(spin, rotate(quat, self.centre))
            robot.set_root_pose(load_sapien().Pose(start[1:4], quat))
            robot.set_root_linear_velocity(speed)
            robot.set_root_angular_velocity(spin)
        robot.set_qpos(start[layout.q][self.order])
        robot.set_qvel(start[layout.dq][self.order])


def new_scene(plan: PhysxDescription) -> Any:
    """An empty scene with what stands still in it."""
    sapien = load_sapien()
    physx = sapien.physx
    config = physx.PhysxSceneConfig()
    config.gravity = plan.gravity
    config.enable_tgs = config.enable_enhanced_determinism = True
    physx.set_scene_config(config)
    bodies = physx.PhysxBodyConfig()
    bodies.solver_position_iterations = POSITION_ITERATIONS
    bodies.solver_velocity_iterations = VELOCITY_ITERATIONS
    bodies.sleep_threshold = 0.0
    physx.set_body_config(bodies)
    scene = sapien.Scene([physx.PhysxCpuSystem()])
    scene.set_timestep(plan.timestep)
    if plan.static:
        ground = physx.PhysxRigidStaticComponent()
        _attach(ground, plan.static, plan.friction)
        entity = sapien.Entity()
        entity.add_component(ground)
        scene.add_entity(entity)
    return scene


def _build_robot(scene: Any, plan: PhysxDescription, position: dict[str, float]) -> Any:
    sapien = load_sapien()
    parts: list[Any] = []
    for link in plan.links:
        parts.append(_build_link(link, parts[link.parent] if link.hinge else None, plan.friction))
        if link.hinge:
            _set_hinge(parts[-1].joint, link.hinge, position[link.hinge.name])
    parts[0].joint.type = "undefined" if plan.free else "fixed"
    for part in parts:
        entity = sapien.Entity()
        entity.add_component(part)
        scene.add_entity(entity)
    return parts[0].articulation


def _build_link(link: PhysxLink, parent: Any, friction: float) -> Any:
    part = load_sapien().physx.PhysxArticulationLinkComponent(parent)
    _attach(part, link.solids, friction)
    inertia = link.inertia
    part.name, part.mass = link.name, inertia.mass
    part.cmass_local_pose, part.inertia = _pose(*inertia.centre), inertia.moments
    part.set_linear_damping(0.0)
    part.set_angular_damping(0.0)
    part.set_max_linear_velocity(FASTEST)
    part.set_max_angular_velocity(FASTEST)
    return part


def _set_hinge(joint: Any, hinge: PhysxHinge, position: float) -> None:
    joint.name, joint.type = hinge.name, hinge.kind
    joint.pose_in_parent, joint.pose_in_child = _pose(*hinge.in_parent), _pose(*hinge.in_child)
    joint.limit = _limits_around(hinge.limits, position)
    joint.set_drive_properties(0.0, 0.0)
    joint.set_friction(0.0)
    joint.set_max_velocity(FASTEST)


def _limits_around(limits: tuple[float, float], position: float) -> list[float]:
    """The limits, widened to hold a start that a real robot's log has beyond them."""
    lower, upper = limits
    return [
        lower if position >= lower else position - LIMIT_MARGIN,
        upper if position <= upper else position + LIMIT_MARGIN,
    ]


def _attach(part: Any, solids: tuple[ContactShape, ...], friction: float) -> None:
    material = load_sapien().physx.PhysxMaterial(friction, friction, 0.0)
    for solid in solids:
        shape, turn = _shape(solid, material)
        shape.local_pose = _pose(solid.pos, solid.quat) * _pose(np.zeros(3), turn)
        shape.set_collision_groups([*solid.groups, 0])
        shape.set_density(0.0)
        part.attach(shape)


def _shape(solid: ContactShape, material: Any) -> tuple[Any, np.ndarray]:
    """The shape, and how its own axes lie in MuJoCo's."""
    physx, upright, size = load_sapien().physx, np.array([1.0, 0.0, 0.0, 0.0]), solid.size
    if solid.points is not None:
        return physx.PhysxCollisionShapeConvexMesh(solid.points, np.ones(3), material), upright
    if solid.kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return physx.PhysxCollisionShapeSphere(size[0], material), upright
    if solid.kind == mujoco.mjtGeom.mjGEOM_BOX:
        return physx.PhysxCollisionShapeBox(size, material), upright
    if solid.kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return physx.PhysxCollisionShapeCapsule(size[0], size[1], material), X_ONTO_Z
    return physx.PhysxCollisionShapePlane(material), X_ONTO_Z


def _pose(pos: np.ndarray, quat: np.ndarray) -> Any:
    return load_sapien().Pose(pos, quat)
