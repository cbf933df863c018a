"""The skeleton of a clamped robot: a compiled model as the constant arrays that JAX works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from gapless.errors import ModelError
from gapless.robots import Robot


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Constants of a model, a node for each joint and for each link that has none.

    Attributes:
        link: node that carries each link, by name.
        turns: (3, 3, 3, N, 1) local rotation: the constant part, that of sin and of 1 - cos.
        shifts: (4, 3, N, 1) local position likewise, the last part that of the angle itself.
        hinge: (3, N, 1) joint axis in its own frame, zero where the node has no hinge.
        slide: (3, N, 1) the same of slides.
        anchor: (3, N, 1) a point of the axis.
        zero: (J, 1) position of each joint in the model's drawing.
        of_joint: (N, J) one where a node is moved by a joint of its own.
        above: (N, N) one where the second node is the first or an ancestor of it.
        parents: for each doubling, the node whose pose is taken over.
        mass: (N,) kg.
        com: (3, N) centre of mass, m.
        inertia: (3, 3, N, 1) about it in the axes of the link, kg·m².
        gravity: (3, 1, 1) m/s².
    """

    link: dict[str, int]
    turns: np.ndarray
    shifts: np.ndarray
    hinge: np.ndarray
    slide: np.ndarray
    anchor: np.ndarray
    zero: np.ndarray
    of_joint: np.ndarray
    above: np.ndarray
    parents: tuple[np.ndarray, ...]
    mass: np.ndarray
    com: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray

    @classmethod
    def of(cls, robot: Robot, model: mujoco.MjModel) -> Skeleton:
        """Read a compiled model of a robot that is clamped to the world."""
        _require_plain(robot, model)
        nodes, carrier = _nodes(model)
        parent = np.array([node.parent for node in nodes])
        hinge, slide, anchor = _axes(model, nodes)
        turns, shifts = _local(nodes, hinge, slide, anchor)
        mass, com, inertia = _inertias(model, carrier, len(nodes))
        ids = [model.joint(name).id for name in robot.joints.names]
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        return cls(
            link={model.body(i).name: node for i, node in enumerate(carrier)},
            turns=np.moveaxis(turns, 1, -1)[..., None],
            shifts=np.moveaxis(shifts, 1, -1)[..., None],
            hinge=hinge.T[..., None],
            slide=slide.T[..., None],
            anchor=anchor.T[..., None],
            zero=model.qpos0[model.jnt_qposadr[ids]][:, None],
            of_joint=np.array([[float(node.joint == i) for i in ids] for node in nodes]),
            above=_above(parent),
            parents=_doublings(parent),
            mass=mass,
            com=com,
            inertia=inertia,
            gravity=(model.opt.gravity * (not off))[:, None, None],
        )


class _Node(NamedTuple):
    parent: int
    joint: int
    pos: np.ndarray
    quat: np.ndarray


def _require_plain(robot: Robot, model: mujoco.MjModel) -> None:
    """Refuse what a chain of driven hinges and slides does not have."""
    found = {
        "a base that moves freely": model.nv != len(robot.joints.names),
        "links that collide with each other": robot.self_collision,
        "a floor that it meets": robot.meets_floor,
        "equality constraints": model.neq > 0,
        "tendons": model.ntendon > 0,
        "joint springs": bool(np.any(model.jnt_stiffness)),
        "gravity compensation": bool(np.any(model.body_gravcomp)),
        "air or water drag": model.opt.density > 0 or model.opt.viscosity > 0,
    }
    unsupported = [what for what, there in found.items() if there]
    if unsupported:
        raise ModelError(
            f"the gradient optimiser cannot simulate {', '.join(unsupported)} of robot "
            f"{robot.name!r}; clamp the robot (mount), or use the gauss-newton optimiser"
        )


def _nodes(model: mujoco.MjModel) -> tuple[list[_Node], list[int]]:
    """A node a joint, the second joint of a link below the first; and the last of each link."""
    nodes, last = [_Node(0, -1, np.zeros(3), np.array([1.0, 0, 0, 0]))], [0]
    for body in range(1, model.nbody):
        parent = last[model.body_parentid[body]]
        pos, quat = model.body_pos[body], model.body_quat[body]
        first = model.body_jntadr[body]
        for joint in range(first, first + model.body_jntnum[body]) if first >= 0 else (-1,):
            nodes.append(_Node(parent, joint, pos, quat))
            parent, pos, quat = len(nodes) - 1, nodes[0].pos, nodes[0].quat
        last.append(len(nodes) - 1)
    return nodes, last


def _axes(model: mujoco.MjModel, nodes: list[_Node]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, 3) hinge axes, slide axes and anchors, zero where there are none."""
    hinge, slide, anchor = np.zeros((3, len(nodes), 3))
    for i, node in enumerate(nodes):
        if node.joint >= 0:
            turning = model.jnt_type[node.joint] == mujoco.mjtJoint.mjJNT_HINGE
            (hinge if turning else slide)[i] = model.jnt_axis[node.joint]
            anchor[i] = model.jnt_pos[node.joint]
    return hinge, slide, anchor


def _local(
    nodes: list[_Node], hinge: np.ndarray, slide: np.ndarray, anchor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(3, N, 3, 3) and (4, N, 3): pose in the parent as constant, sin, 1 - cos and angle parts."""
    fixed = np.array([_matrix(node.quat) for node in nodes])
    cross = np.cross(hinge[:, None], np.eye(3)).transpose(0, 2, 1)
    turns = np.stack([fixed, fixed @ cross, fixed @ cross @ cross])
    swung = -np.einsum("knij,nj->kni", turns[1:], anchor)
    along = np.einsum("nij,nj->ni", fixed, slide)
    return turns, np.stack([np.array([node.pos for node in nodes]), *swung, along])


def _inertias(
    model: mujoco.MjModel, carrier: list[int], nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    mass, com, inertia = np.zeros(nodes), np.zeros((3, nodes)), np.zeros((3, 3, nodes, 1))
    for body, node in enumerate(carrier):
        axes = _matrix(model.body_iquat[body])
        mass[node], com[:, node] = model.body_mass[body], model.body_ipos[body]
        inertia[:, :, node, 0] = axes @ np.diag(model.body_inertia[body]) @ axes.T
    return mass, com, inertia


def _matrix(quat: np.ndarray) -> np.ndarray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)


def _above(parent: np.ndarray) -> np.ndarray:
    above = np.eye(len(parent))
    for node, up in enumerate(parent):
        above[node] = np.maximum(above[node], above[up])
    return above


def _doublings(parent: np.ndarray) -> tuple[np.ndarray, ...]:
    found = []
    while parent.any():
        found.append(parent)
        parent = parent[parent]
    return tuple(found)
