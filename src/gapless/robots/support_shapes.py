"""What of a robot can touch the floor: every collision shape by its support function.

A support function says how far a shape reaches in a direction. All of MuJoCo's convex shapes are
the hull of some points, thickened by a ball that may be stretched or flat: a capsule is two points
and a ball, a cylinder two points and a disc, an ellipsoid one point and a stretched ball, a mesh
the points of its hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gapless.robots.rotations import mul, rotate

if TYPE_CHECKING:
    import mujoco

FLOOR_CONTYPE = 1
"""What a geom's conaffinity must have in common with the floor's contype to meet it."""


@dataclass(frozen=True)
class SupportShape:
    """A convex shape fixed to a link.

    Attributes:
        link: the link; links welded to another count as that one.
        points: (V, 3) points whose hull is thickened, in the link's frame, m.
        ball: (3, 3) what a unit ball is turned into; zero for boxes and meshes.
    """

    link: str
    points: np.ndarray
    ball: np.ndarray

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        """(..., 3) the point that is farthest along (..., 3) unit directions, link's frame."""
        best = self.points[(direction @ self.points.T).argmax(axis=-1)]
        along = direction @ self.ball
        size = np.linalg.norm(along, axis=-1, keepdims=True)
        # Across a disc there is no farthest point: its centre is one.
        return best + np.where(size > 1e-9, along / np.maximum(size, 1e-9), 0.0) @ self.ball.T

    def reach(self, direction: np.ndarray) -> np.ndarray:
        """(...) how far the shape reaches along unit directions from the link's origin, m."""
        reach = (direction @ self.points.T).max(axis=-1)
        return reach + np.linalg.norm(direction @ self.ball, axis=-1)


def floor_shapes(model: mujoco.MjModel) -> tuple[SupportShape, ...]:
    """The shapes of a compiled model that MuJoCo would let collide with the floor."""
    shapes = (support_shape(model, geom) for geom in meeting_floor(model))
    return tuple(shape for shape in shapes if shape is not None)


def meeting_floor(model: mujoco.MjModel) -> list[int]:
    """The geoms that MuJoCo would let collide with the floor."""
    meets = (model.geom_conaffinity & FLOOR_CONTYPE).astype(bool) & (model.geom_bodyid > 0)
    # A pair that is excluded is stored as body1 * 65536 + body2, and the world is body 0.
    meets &= ~np.isin(model.geom_bodyid, model.exclude_signature)
    return np.flatnonzero(meets).tolist()


def support_shape(model: mujoco.MjModel, geom: int) -> SupportShape | None:
    """A geom as a convex shape; None for planes and height fields."""
    found = _figures(model, geom)
    if found is None:
        return None
    points, ball = found
    body, pos, quat = _on_moving_body(model, geom)
    return SupportShape(
        model.body(body).name, pos + rotate(quat, points), rotate(quat, np.diag(ball)).T
    )


def _figures(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, tuple[float, ...]] | None:
    """Points and half axes of the ball in the geom's own frame; None for planes and fields."""
    import mujoco

    kinds, size = mujoco.mjtGeom, model.geom_size[geom].tolist()
    centre, ends = np.zeros((1, 3)), np.array([[0, 0, -size[1]], [0, 0, size[1]]])
    kind = kinds(model.geom_type[geom])
    if kind == kinds.mjGEOM_MESH:
        return _hull(model, int(model.geom_dataid[geom])), (0.0, 0.0, 0.0)
    return {
        kinds.mjGEOM_SPHERE: (centre, (size[0],) * 3),
        kinds.mjGEOM_CAPSULE: (ends, (size[0],) * 3),
        kinds.mjGEOM_CYLINDER: (ends, (size[0], size[0], 0.0)),
        kinds.mjGEOM_ELLIPSOID: (centre, tuple(size)),
        kinds.mjGEOM_BOX: (np.array(list(product(*((-s, s) for s in size)))), (0.0, 0.0, 0.0)),
    }.get(kind)


def _hull(model: mujoco.MjModel, mesh: int) -> np.ndarray:
    """The vertices of a mesh that MuJoCo collides: those of its hull, where it made one."""
    first, graph = model.mesh_vertadr[mesh], model.mesh_graphadr[mesh]
    vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)
    if graph < 0:
        return vertices
    count = model.mesh_graph[graph]
    return vertices[model.mesh_graph[graph + 2 + count : graph + 2 + 2 * count]]


def _on_moving_body(model: mujoco.MjModel, geom: int) -> tuple[int, np.ndarray, np.ndarray]:
    """The body that carries a geom along, and the geom's pose in its frame."""
    body, carrier = int(model.geom_bodyid[geom]), model.body_weldid[model.geom_bodyid[geom]]
    pos, quat = model.geom_pos[geom].copy(), model.geom_quat[geom].copy()
    while body != carrier:
        turn = model.body_quat[body]
        pos, quat = model.body_pos[body] + rotate(turn, pos), mul(turn, quat)
        body = int(model.body_parentid[body])
    return body, pos, quat
