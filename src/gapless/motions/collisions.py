"""Where a robot's links run into each other: a coarse check on simple shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.robots import Floor, Robot
from gapless.robots.build import HOME

if TYPE_CHECKING:
    import mujoco

Pair = tuple[str, str]

SHORTEST = 0.05
"""A link without a shape whose joints lie closer than this, m, is covered by its neighbours."""

THICKNESS = 0.25, 0.02, 0.05
"""Radius of a stand-in capsule: share of its length, at least and at most, m."""

NEAR = 2
"""Links that are this many moving joints apart, or fewer, are one limb and never compared."""


def overlaps(robot: Robot, q: np.ndarray) -> dict[Pair, np.ndarray]:
    """How deep links overlap in each pose.

    Links are compared by the collision shapes of the robot; a link that has none gets a capsule
    along its joints. Neighbours in the tree, and pairs that touch in the default pose already, are
    left out. The shapes are coarse: a clean result says that no limb goes through another, not
    that a cable or a finger is clear.

    Args:
        robot: gives the shapes and the default pose.
        q: (T, J) poses, rad.

    Returns:
        For each pair of links that meets, (T,) metres of overlap, 0 where they are apart.
    """
    import mujoco

    model = _model(robot)
    data = mujoco.MjData(model)
    columns = [model.joint(name).qposadr[0] for name in robot.joints.names]
    near = _neighbours(model)
    allowed = _touching(model, data, model.key(HOME).qpos, near).keys()
    found: dict[Pair, np.ndarray] = {}
    pose = model.key(HOME).qpos.copy()
    for t, angles in enumerate(q):
        pose[columns] = angles
        for pair, depth in _touching(model, data, pose, near).items():
            if pair not in allowed:
                found.setdefault(pair, np.zeros(len(q)))[t] = depth
    return found


def _touching(
    model: mujoco.MjModel, data: mujoco.MjData, pose: np.ndarray, near: np.ndarray
) -> dict[Pair, float]:
    import mujoco

    data.qpos[:] = pose
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    bodies = model.geom_bodyid[data.contact.geom]
    found: dict[Pair, float] = {}
    for (a, b), distance in zip(bodies, data.contact.dist, strict=True):
        if distance < 0 and not near[a, b]:
            pair = model.body(min(a, b)).name, model.body(max(a, b)).name
            found[pair] = max(found.get(pair, 0.0), float(-distance))
    return found


def _model(robot: Robot) -> mujoco.MjModel:
    """The robot hung by its root, every link with a shape that meets the others."""
    from gapless.robots.build import compile_spec

    hung = replace(robot, mount="fixed", self_collision=True, payloads={}, floor=Floor())
    spec = hung.spec()
    compiled = compile_spec(spec.copy())
    colliding = compiled.geom_bodyid[compiled.geom_conaffinity > 0]
    for link in robot.links:
        body = compiled.body(link).id
        if body not in colliding:
            _add_capsules(spec.body(link), _far_points(robot, compiled, body))
    return compile_spec(spec)


def _far_points(robot: Robot, model: mujoco.MjModel, body: int) -> list[np.ndarray]:
    """Where a link's children and end effectors are, in its own frame."""
    children = np.flatnonzero(model.body_parentid == body)
    ends = [p.offset for p in robot.end_effectors if p.body == model.body(body).name]
    points = [*model.body_pos[children], *np.reshape(ends, (-1, 3))]
    return [p for p in points if np.linalg.norm(p) > SHORTEST]


def _add_capsules(body: Any, points: list[np.ndarray]) -> None:
    import mujoco

    share, least, most = THICKNESS
    for point in points:
        radius = np.clip(share * np.linalg.norm(point), least, most)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            fromto=[0.0, 0.0, 0.0, *point],
            size=[radius, 0.0, 0.0],
            contype=1,
            conaffinity=1,
        )


def _neighbours(model: mujoco.MjModel) -> np.ndarray:
    """(B, B) True where two bodies are few moving joints apart in the tree."""
    lines = [_line(model, body) for body in range(model.nbody)]
    return np.array([[len(a ^ b) <= NEAR and (a <= b or b <= a) for b in lines] for a in lines])


def _line(model: mujoco.MjModel, body: int) -> frozenset[int]:
    """The moving ancestors of a body, itself included."""
    line, weld = set(), model.body_weldid[body]
    while weld:
        line.add(int(weld))
        weld = model.body_weldid[model.body_parentid[weld]]
    return frozenset(line)
