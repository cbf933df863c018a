"""Whether a free robot stays on its feet: the zero-moment point against the soles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.spatial import ConvexHull

from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, rotate

if TYPE_CHECKING:
    import mujoco

GRAVITY = 9.81
SMOOTH = 0.05
"""The centre of mass is smoothed by a Gaussian of this deviation, s: a motor softens a step so."""
DOWN = 0.02
"""A foot this close to the lowest one, m, is on the ground."""
SOLE = 0.01
"""Parts of a foot this close to its lowest part, m, are its sole."""
PATCH = 0.005
"""A sole reaches this far around its outermost points, m; a point foot stands on no less."""
FLIGHT = 0.5
"""Falling with more than this share of gravity is a jump: there is nothing to stand on."""


@dataclass(frozen=True)
class Support:
    """The zero-moment point over time.

    Attributes:
        outside: (T,) distance from the area of the feet that are down, m; negative inside.
        down: (T, F) which feet are on the ground.
        feet: their links.
    """

    outside: np.ndarray
    down: np.ndarray
    feet: tuple[str, ...]


def balance(
    robot: Robot,
    q: np.ndarray,
    rate: float,
    base_pos: np.ndarray | None = None,
    base_quat_wxyz: np.ndarray | None = None,
) -> Support | None:
    """Where the zero-moment point lies, treating the robot as one mass on a cart and table.

    A screen, not a proof: the body's own rotation, slip and the controller's errors are left out.
    Without a base pose the robot stands on the foot that is the lower one on average (a robot with
    more than two feet: on all of them), as flat as in its default pose.

    Args:
        robot: gives masses, feet and the shapes of their soles.
        q: (T, J) poses, rad.
        rate: poses per second.
        base_pos: (T, 3) root position, m.
        base_quat_wxyz: (T, 4) root orientation.

    Returns:
        None for a robot without feet.
    """
    feet = robot.feet
    if not feet:
        return None
    hung = robot.with_mount("fixed")
    model = hung.model()
    kinematics = Kinematics(model, hung)
    soles = [p for foot in feet for p in _sole(model, kinematics, robot, foot)]
    masses = [model.body(link).mass[0] for link in kinematics.links]
    points = [TrackingPoint(k, k, tuple(model.body(k).ipos)) for k in kinematics.links] + soles

    def place(poses: np.ndarray, *base: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        found = kinematics.points(poses, *base, points=points)
        com = np.average(found[:, : len(masses)], axis=1, weights=masses)
        return com, found[:, len(masses) :].reshape(len(poses), len(feet), -1, 3)

    com, ground = place(q, base_pos, base_quat_wxyz)
    if base_pos is None:
        com, ground = _stood(com, ground, place(robot.joints.default[None])[1][0])
    return _balance(com, ground, rate, feet)


def _balance(com: np.ndarray, ground: np.ndarray, rate: float, feet: tuple[str, ...]) -> Support:
    lowest = ground[..., 2].min(axis=2)
    floor = lowest.min(axis=1, keepdims=True)
    down = lowest < floor + DOWN
    push = np.gradient(np.gradient(_smoothed(com, rate), 1 / rate, axis=0), 1 / rate, axis=0)
    lift = np.maximum(push[:, 2:] + GRAVITY, FLIGHT * GRAVITY)
    zmp = com[:, :2] - (com[:, 2:] - floor) * push[:, :2] / lift
    outside = np.array([_outside(z, g[d]) for z, g, d in zip(zmp, ground, down, strict=True)])
    outside[push[:, 2] < -FLIGHT * GRAVITY] = -np.inf
    return Support(outside, down, feet)


def _smoothed(com: np.ndarray, rate: float) -> np.ndarray:
    """Smooth over time; the path goes on beyond its ends, so that no clip begins with a jerk."""
    edge = min(len(com) - 1, int(np.ceil(4 * SMOOTH * rate)))
    longer = np.pad(com, ((edge, edge), (0, 0)), mode="reflect", reflect_type="odd")
    smooth = gaussian_filter1d(longer, SMOOTH * rate, axis=0, mode="nearest")
    return smooth[edge : edge + len(com)]


def _outside(point: np.ndarray, soles: np.ndarray) -> float:
    """How far a point is beyond the farthest edge of the hull of the soles."""
    edges = ConvexHull(soles[..., :2].reshape(-1, 2)).equations
    return float((edges[:, :2] @ point + edges[:, 2]).max())


def _stood(com: np.ndarray, ground: np.ndarray, home: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn and move each pose so that the feet it stands on come to where they are at home."""
    lower = int(ground[..., 2].mean(axis=(0, 2)).argmin())
    stance = [lower] if len(home) <= 2 else list(range(len(home)))
    now = ground[:, stance].reshape(len(ground), -1, 3)
    then = home[stance].reshape(-1, 3)
    middle, goal = now.mean(axis=1), then.mean(axis=0)
    # Kabsch: the rotation that brings the points nearest to their goal.
    left, _, right = np.linalg.svd((now - middle[:, None]).swapaxes(1, 2) @ (then - goal))
    flip = np.ones((len(now), 1, 3))
    flip[:, 0, 2] = np.sign(np.linalg.det(left @ right))
    turn = (left * flip) @ right
    return (
        np.einsum("ti,tij->tj", com - middle, turn) + goal,
        np.einsum("tfpi,tij->tfpj", ground - middle[:, None, None], turn) + goal,
    )


def _sole(
    model: mujoco.MjModel, kinematics: Kinematics, robot: Robot, foot: str
) -> list[TrackingPoint]:
    """Four corners around the lowest parts of a foot, as it stands in the default pose."""
    pos, quat = (x[0] for x in kinematics.link_poses(robot.joints.default))
    column = kinematics.links.index(foot)
    low = pos[column] + rotate(quat[column], _outline(model, model.body(foot).id, quat[column]))
    low = low[low[:, 2] < low[:, 2].min() + SOLE]
    (x0, y0, z), (x1, y1, _) = low.min(axis=0) - PATCH, low.max(axis=0) + PATCH
    corners = np.array([[x, y, z + PATCH] for x in (x0, x1) for y in (y0, y1)])
    offsets = rotate(conj(quat[column]), corners - pos[column])
    return [TrackingPoint(foot, foot, tuple(offset)) for offset in offsets]


def _outline(model: mujoco.MjModel, body: int, quat: np.ndarray) -> np.ndarray:
    """(N, 3) outermost low points of a link's colliding shapes, in its frame; else its origin."""
    down = rotate(conj(quat), np.array([0.0, 0.0, -1.0]))
    first = model.body_geomadr[body]
    geoms = [g for g in range(first, first + model.body_geomnum[body]) if model.geom_conaffinity[g]]
    found = [np.zeros((0 if geoms else 1, 3))]
    for geom in geoms:
        points, radius = _skeleton(model, geom)
        turned = rotate(model.geom_quat[geom], points)
        found.append(model.geom_pos[geom] + turned + radius * down)
    return np.concatenate(found)


def _skeleton(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, float]:
    """Points of a shape in its own frame, and how thick the shape is around them."""
    import mujoco

    size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        return model.mesh_vert[first : first + model.mesh_vertnum[mesh]], 0.0
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return np.array(np.meshgrid(*([-s, s] for s in size))).reshape(3, -1).T, 0.0
    if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        return np.array([[0, 0, -size[1]], [0, 0, size[1]]]), float(size[0])
    return np.zeros((1, 3)), float(size[0])
