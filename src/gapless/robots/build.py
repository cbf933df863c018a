"""From figures to MuJoCo: the one place that decides what a robot's compiled model looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.errors import ModelError
from gapless.robots.inertia import Floor, Inertia, Pose
from gapless.robots.joints import Joints
from gapless.robots.payload import Payload
from gapless.robots.rotations import rotate
from gapless.robots.tree import Link, Tree

if TYPE_CHECKING:
    import mujoco

FREE_JOINT = "root"
FLOOR = "floor"
STEP = "floor_step_"
STEPS = 8
"""Steps of a staircase."""
FIRST_STEP = 0.5
"""Where a staircase begins, m in front of the origin."""
STEP_WIDTH = 4.0
"""Of a staircase, m."""
STEP_FOUNDATION = 0.5
"""How far below the plane a step reaches, m: nothing that falls on it comes out underneath."""
HOME = "home"
STICKING = (0.999, 0.999, 0.001, 0.5, 2.0)
"""Impedance of dry friction: with MuJoCo's default (0.9) a joint that should stick creeps."""

_LEAST_INERTIA = 1e-10  # kg·m²
_LEAST_MASS = 1e-12  # kg


def new_spec(name: str) -> mujoco.MjSpec:
    """An empty model."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    return spec


def set_options(spec: mujoco.MjSpec) -> None:
    """The integrator every world uses, and no silent reset of a diverged state."""
    import mujoco

    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)


def add_tree(spec: mujoco.MjSpec, tree: Tree) -> None:
    """Add the links, hinges and shapes of a tree."""
    bodies: dict[str, Any] = {"": spec.worldbody}
    for link in tree.links:
        bodies[link.name] = _add_link(bodies[link.parent], link)
    for shape in tree.shapes:
        bodies[shape.link].add_geom(
            type=_geom_type(shape.kind),
            size=[*shape.size, 0.0, 0.0][:3],
            pos=shape.pos,
            quat=shape.quat,
        )


def _add_link(parent: Any, link: Link) -> Any:
    body = parent.add_body(name=link.name, pos=link.pos, quat=link.quat)
    body.mass, body.ipos = link.mass, link.com
    body.explicitinertial = True
    if link.mass > 0:
        body.fullinertia = link.inertia
    if link.hinge:
        body.add_joint(name=link.hinge.name, axis=link.hinge.axis, pos=link.hinge.pos)
    return body


def _geom_type(kind: str) -> Any:
    import mujoco

    return getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}")


def set_contacts(spec: mujoco.MjSpec, self_collision: bool) -> None:
    """Let every colliding geom meet the floor, and each other only when asked."""
    for geom in spec.geoms:
        if geom.contype or geom.conaffinity:
            geom.contype, geom.conaffinity = int(self_collision), 1


def move_shapes(spec: mujoco.MjSpec, soles: Mapping[str, tuple[float, float]]) -> None:
    """Move what links touch things with along x and z of their frames."""
    for link, (x, z) in soles.items():
        moved = np.array([x, 0.0, z])
        for geom in spec.body(link).geoms:
            if not (geom.contype or geom.conaffinity):
                continue
            if np.isnan(geom.fromto).any():
                geom.pos = geom.pos + moved
            else:  # stated by its ends
                geom.fromto = geom.fromto + np.tile(moved, 2)


def add_floor(spec: mujoco.MjSpec, floor: Floor, pose: Pose) -> None:
    """A plane at a pose, and steps, whose figures alone decide the contact's."""
    import mujoco

    pos, quat = pose
    same: dict[str, Any] = {
        "friction": [floor.friction, 0.005, 0.0001],
        "solref": [floor.softness, 1.0],
        "contype": 1,
        "conaffinity": 0,
        "priority": 1,
        "quat": quat,
    }
    plane, box = mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_BOX
    spec.worldbody.add_geom(name=FLOOR, type=plane, size=[0, 0, 1], pos=pos, **same)
    for k, name in enumerate(floor_geoms(floor)[1:]):
        size, centre = _step(floor, k)
        at = pos + rotate(quat, centre)
        spec.worldbody.add_geom(name=name, type=box, size=size, pos=at, **same)


def floor_geoms(floor: Floor) -> tuple[str, ...]:
    """Names of the geoms that a floor is made of, the plane first."""
    return (FLOOR, *(f"{STEP}{k + 1}" for k in range(STEPS if floor.step_height else 0)))


def _step(floor: Floor, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Half lengths and centre of a step, the first is 0, where the floor is level."""
    top = (k + 1) * floor.step_height
    size = np.array([floor.step_depth, STEP_WIDTH, top + STEP_FOUNDATION]) / 2
    return size, np.array([FIRST_STEP + (k + 0.5) * floor.step_depth, 0.0, top - size[2]])


def set_base(spec: mujoco.MjSpec) -> None:
    """A free base has no bearings; MuJoCo 3.11 gives it the joint defaults of a user's model."""
    import mujoco

    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            joint.armature = joint.frictionloss = 0.0
            _set_linear(joint, "damping", 0.0)


def set_joints(spec: mujoco.MjSpec, joints: Joints) -> None:
    """Write limits, armature and friction of every joint."""
    import mujoco

    on, off = mujoco.mjtLimited.mjLIMITED_TRUE, mujoco.mjtLimited.mjLIMITED_FALSE
    for i, name in enumerate(joints.names):
        joint = spec.joint(name)
        if joint is None:
            raise ModelError(f"the robot has no joint {name!r} in its model; was its file edited?")
        limits = joints.lower[i], joints.upper[i]
        limited = bool(np.isfinite(limits).all())
        joint.limited = on if limited else off
        if limited:
            hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
            joint.range = np.degrees(limits) if hinge and spec.compiler.degree else limits
        joint.actfrclimited = off
        joint.armature = joints.armature[i]
        if not joint.frictionloss:  # a user's model that has dry friction keeps its own kind
            joint.solimp_friction = STICKING
        joint.frictionloss = joints.frictionloss[i]
        _set_linear(joint, "damping", joints.damping[i])


def _set_linear(joint: Any, field: str, value: float) -> None:
    # Newer MuJoCo holds damping as a polynomial; older as one number.
    if np.ndim(getattr(joint, field)):
        coefficients = np.zeros_like(getattr(joint, field))
        coefficients[0] = value
        setattr(joint, field, coefficients)
    else:
        setattr(joint, field, value)


def add_actuators(spec: mujoco.MjSpec, joints: Joints) -> None:
    """One PD actuator a joint, named as the joint, in the robot's order."""
    import mujoco

    for i, name in enumerate(joints.names):
        kp, kd, effort = joints.kp[i], joints.kd[i], joints.effort[i]
        actuator = spec.add_actuator(name=name, target=name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
        actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.gainprm[0] = kp
        actuator.biasprm[:3] = [0.0, -kp, -kd]
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        limited = bool(joints.actuated[i]) and 0 < effort < np.inf
        actuator.forcelimited = int(limited)
        if limited:
            actuator.forcerange = [-effort, effort]


def set_inertias(
    spec: mujoco.MjSpec, inertias: Mapping[str, Inertia], payloads: Mapping[str, Payload]
) -> None:
    """Give links these inertias, and merge each load, a point mass, into that of its link.

    No body is added: models that differ only in their loads must keep the same sizes, so that one
    batch of simulations can hold them all.
    """
    if not inertias and not payloads:
        return
    model = compile_spec(spec.copy())
    known = {link: inertias.get(link) or link_inertia(model, link) for link in payloads}
    for link, inertia in {**inertias, **loaded_inertias(known, payloads)}.items():
        body = spec.body(link)
        body.explicitinertial = True
        body.mass, body.ipos = inertia.mass, inertia.com
        body.inertia, body.iquat = principal(inertia.tensor)
        body.fullinertia = [np.nan, *[0.0] * 5]


def loaded_inertias(
    inertias: Mapping[str, Inertia], payloads: Mapping[str, Payload]
) -> dict[str, Inertia]:
    """The inertias of the links that carry something, with what they carry."""
    found = {}
    for link, payload in payloads.items():
        at = inertias[link].com if payload.com is None else payload.com
        found[link] = inertias[link].plus(payload.mass, np.asarray(at, float))
    return found


def principal(tensor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and axes; the largest is no larger than the sum of the others.

    A flat body is on that bound, where MuJoCo would refuse it for a rounding error.
    """
    import mujoco

    moments, axes = (array[..., ::-1] for array in np.linalg.eigh(tensor))
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, (axes * np.sign(np.linalg.det(axes))).ravel())
    return np.minimum(moments, [moments[1:].sum(), np.inf, np.inf]), quat


def link_inertia(model: mujoco.MjModel, link: str) -> Inertia:
    """Mass, centre and inertia of a link of a compiled model."""
    i = model.body(link).id
    axes = rotate(model.body_iquat[i], np.eye(3)).T
    # A massless link has no inertia, which MuJoCo refuses once it carries something.
    moments = np.maximum(model.body_inertia[i], _LEAST_INERTIA)
    mass = max(float(model.body_mass[i]), _LEAST_MASS)
    return Inertia.of(mass, model.body_ipos[i], axes @ np.diag(moments) @ axes.T)


def add_home(spec: mujoco.MjSpec, joints: Joints, root_pos: np.ndarray) -> None:
    """The key "home": the default pose, standing on the floor where the base is free."""
    import mujoco

    model = compile_spec(spec)
    data = mujoco.MjData(model)
    qpos = data.qpos.copy()
    for name, angle in zip(joints.names, joints.default, strict=True):
        qpos[model.joint(name).qposadr[0]] = angle
    if model.njnt and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
        qpos[:7] = [*root_pos, 1.0, 0.0, 0.0, 0.0]
    spec.add_key(name=HOME, qpos=qpos, ctrl=joints.default)


def compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile, turning MuJoCo's complaint into an error that names the model."""
    try:
        return spec.compile()
    except ValueError as error:
        raise ModelError(f"model {spec.modelname!r} does not compile: {error}") from error
