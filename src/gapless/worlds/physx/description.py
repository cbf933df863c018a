"""What PhysX is told about a robot, read from its compiled MuJoCo model."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gapless.robots.rotations import conj, mul, rotate
from gapless.worlds.physx.contact_shapes import ContactShape, colliding_solids
from gapless.worlds.physx.refusals import refuse_unknown

Pose = tuple[np.ndarray, np.ndarray]
"""Position and wxyz orientation."""

ORIGIN: Pose = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
_LEAST_INERTIA = 1e-10  # kg·m²


@dataclass(frozen=True)
class PrincipalInertia:
    """Mass, principal axes and moments of a link, in its frame."""

    mass: float
    centre: Pose
    moments: np.ndarray


@dataclass(frozen=True)
class PhysxHinge:
    """A hinge or a slide; PhysX moves along or about the x axis of the two frames.

    Attributes:
        name: the joint.
        kind: "revolute_unwrapped" or "prismatic"; PhysX's "revolute" jumps at a full turn.
        limits: lowest and highest position, infinite where there is none.
        in_parent: the joint's frame in the parent link.
        in_child: the same in the moved link, at position zero.
    """

    name: str
    kind: str
    limits: tuple[float, float]
    in_parent: Pose
    in_child: Pose


@dataclass(frozen=True)
class PhysxLink:
    """A rigid link, welded bodies merged into it; parent -1 and no hinge is the root."""

    name: str
    parent: int
    inertia: PrincipalInertia
    hinge: PhysxHinge | None
    solids: tuple[ContactShape, ...]


@dataclass(frozen=True)
class PhysxDescription:
    """The articulation and what it stands on.

    Attributes:
        links: parents before children; the first is the root.
        static: solids fixed to the world.
        free: whether the root moves; otherwise it is the world itself.
        gravity: m/s².
        friction: coefficient of all contacts.
        timestep: s.
    """

    links: tuple[PhysxLink, ...]
    static: tuple[ContactShape, ...]
    free: bool
    gravity: np.ndarray
    friction: float
    timestep: float


def read_plan(model: mujoco.MjModel) -> PhysxDescription:
    """Read a compiled model, or refuse what PhysX cannot represent."""
    refuse_unknown(model)
    data = _at_zero(model)
    free = bool(model.njnt) and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    solids = colliding_solids(model, data)
    moving = [b for b in range(1, model.nbody) if model.body_weldid[b] == b]
    bodies = moving if free else [0, *moving]
    return PhysxDescription(
        links=tuple(_link(model, data, body, bodies, solids) for body in bodies),
        static=tuple(solids.get(0, ())),
        free=free,
        gravity=model.opt.gravity.copy(),
        friction=_friction(model),
        timestep=float(model.opt.timestep),
    )


def _at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """Every frame in the world while all joints are at zero, where PhysX's frames coincide."""
    data = mujoco.MjData(model)
    joints = model.jnt_type != mujoco.mjtJoint.mjJNT_FREE
    data.qpos[model.jnt_qposadr[joints]] = 0.0
    mujoco.mj_kinematics(model, data)
    return data


def _link(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    body: int,
    bodies: list[int],
    solids: dict[int, list[ContactShape]],
) -> PhysxLink:
    if body == 0:
        held = PrincipalInertia(1.0, ORIGIN, np.ones(3))  # it does not move, so any figures do
        return PhysxLink("world", -1, held, None, ())
    parent = int(model.body_weldid[model.body_parentid[body]])
    root = parent not in bodies
    return PhysxLink(
        name=model.body(body).name,
        parent=-1 if root else bodies.index(parent),
        inertia=_inertia(model, data, body),
        hinge=None if root else _hinge(model, data, body, parent),
        solids=tuple(solids.get(body, ())),
    )


def _hinge(model: mujoco.MjModel, data: mujoco.MjData, body: int, parent: int) -> PhysxHinge:
    joint = int(model.body_jntadr[body])
    slides = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
    lower, upper = model.jnt_range[joint] if model.jnt_limited[joint] else (-np.inf, np.inf)
    frame = data.xanchor[joint], x_onto(data.xaxis[joint])
    return PhysxHinge(
        name=model.joint(joint).name,
        kind="prismatic" if slides else "revolute_unwrapped",
        limits=(float(lower), float(upper)),
        in_parent=seen_from(data, parent, frame),
        in_child=seen_from(data, body, frame),
    )


def _inertia(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> PrincipalInertia:
    """All bodies welded to this one, about their common centre."""
    parts = np.flatnonzero(model.body_weldid == body)
    masses, centres = model.body_mass[parts], data.xipos[parts]
    centre = masses @ centres / masses.sum()
    tensor = np.zeros((3, 3))
    for part, mass, arm in zip(parts, masses, centres - centre, strict=True):
        axes = data.ximat[part].reshape(3, 3)
        tensor += axes @ np.diag(model.body_inertia[part]) @ axes.T
        tensor += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, axes = np.linalg.eigh(tensor)
    axes[:, 2] *= np.linalg.det(axes)  # a rotation, not a mirror
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, axes.ravel())
    return PrincipalInertia(
        mass=float(masses.sum()),
        centre=seen_from(data, body, (centre, quat)),
        moments=np.maximum(moments, _LEAST_INERTIA),
    )


def _friction(model: mujoco.MjModel) -> float:
    """That of the geoms with the highest priority, which is the floor's where there is one."""
    first = model.geom_priority == model.geom_priority.max(initial=0)
    return float(model.geom_friction[first, 0].max(initial=0.0))


def seen_from(data: mujoco.MjData, body: int, pose: Pose) -> Pose:
    """A pose in the world as the frame of a body sees it."""
    back = conj(data.xquat[body])
    return rotate(back, pose[0] - data.xpos[body]), mul(back, pose[1])


def x_onto(axis: np.ndarray) -> np.ndarray:
    """The rotation that turns the x axis onto a unit vector, wxyz."""
    if axis[0] < -1 + 1e-9:
        return np.array([0.0, 0.0, 0.0, 1.0])
    quat = np.array([1 + axis[0], 0.0, -axis[2], axis[1]])
    return quat / np.linalg.norm(quat)
