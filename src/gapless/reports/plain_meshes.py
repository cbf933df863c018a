"""Triangle meshes of plain solids, with as few triangles as still look round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.robots.rotations import rotate

MOST_FACES = 20_000
"""A mesh with more faces is drawn coarser."""
CELLS = 80
"""Cells along the longest side of a mesh that is drawn coarser."""
SHARP = 0.6
"""rad; edges with a larger angle stay edges, all others are shaded round."""
SLANTED = 0.4
"""Least cosine between a corner's and a face's direction; keeps needles from turning inside out."""
X_AXIS, Z_AXIS = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class PlainMesh:
    """Triangles in a frame of their own.

    Attributes:
        vertices: (V, 3) float32, m; faces that share a vertex are shaded round there.
        faces: (F, 3) int32, counter-clockwise seen from outside.
    """

    vertices: np.ndarray
    faces: np.ndarray

    @classmethod
    def of(cls, vertices: np.ndarray, faces: np.ndarray) -> PlainMesh:
        """From arrays of any number type."""
        return cls(np.asarray(vertices, np.float32), np.asarray(faces, np.int32))

    def placed(self, pos: np.ndarray, quat_wxyz: np.ndarray) -> PlainMesh:
        """The same in the frame in which it has this pose."""
        return PlainMesh.of(rotate(quat_wxyz, self.vertices) + pos, self.faces)

    def thinner(self, by: float) -> PlainMesh:
        """The same with its surface moved inwards, m."""
        import trimesh

        places, place = np.unique(self.vertices, axis=0, return_inverse=True)
        place = place.ravel()  # vertices that are split for their shading move as one
        mesh = trimesh.Trimesh(places, place[self.faces], process=False)
        inwards = -mesh.vertex_normals
        slant = np.ones(len(places))  # a corner goes further than each of its faces
        along = -(inwards[mesh.faces] * mesh.face_normals[:, None]).sum(axis=-1)
        np.minimum.at(slant, mesh.faces, along)
        moved = by * inwards / np.maximum(slant, SLANTED)[:, None]
        return PlainMesh.of(self.vertices + moved[place], self.faces)


def joined(solids: Sequence[PlainMesh]) -> PlainMesh:
    """Several as one."""
    offsets = np.cumsum([0, *(len(s.vertices) for s in solids[:-1])])
    faces = [s.faces + offset for s, offset in zip(solids, offsets, strict=True)]
    return PlainMesh.of(np.concatenate([s.vertices for s in solids]), np.concatenate(faces))


def ellipsoid(radii: np.ndarray) -> PlainMesh:
    """With half axes (3,)."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=2)
    return PlainMesh.of(ball.vertices * radii, ball.faces)


def capsule(radius: float, half_length: float) -> PlainMesh:
    """About the z axis, its round ends beyond the half length."""
    import trimesh

    made = trimesh.creation.capsule(2 * half_length, radius, count=(10, 14))
    middle = made.bounds.mean(axis=0)
    return PlainMesh.of(made.vertices - middle, made.faces)


def cylinder(radius: float, half_length: float) -> PlainMesh:
    """About the z axis."""
    import trimesh

    return edged(trimesh.creation.cylinder(radius, 2 * half_length, sections=20))


def box(half_sides: np.ndarray) -> PlainMesh:
    """With sharp edges."""
    import trimesh

    return edged(trimesh.creation.box(2 * np.asarray(half_sides)))


def block(half_sides: np.ndarray) -> PlainMesh:
    """A box with round edges."""
    import trimesh

    half_sides = np.asarray(half_sides, float)
    radius = 0.45 * half_sides.min()
    ball = trimesh.creation.icosphere(subdivisions=1).vertices * radius
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * (half_sides - radius)
    hull = trimesh.convex.convex_hull((corners[:, None] + ball).reshape(-1, 3))
    return PlainMesh.of(hull.vertices, hull.faces)


def bone(radius: float, start: np.ndarray, end: np.ndarray) -> PlainMesh:
    """A capsule from a point to another."""
    way = end - start
    half = 0.5 * float(np.linalg.norm(way))
    return capsule(radius, half).placed(0.5 * (start + end), _turn_from_z(way / (2 * half)))


def surface(vertices: np.ndarray, faces: np.ndarray) -> PlainMesh:
    """A mesh of the user, coarser where it is very fine."""
    import trimesh

    mesh = trimesh.Trimesh(vertices, faces, process=True)
    return edged(coarser(mesh) if len(mesh.faces) > MOST_FACES else mesh)


def coarser(mesh: Any) -> Any:
    """A mesh with its vertices gathered in cells; the shape stays, small detail goes."""
    import trimesh

    size = mesh.extents.max() / CELLS
    cells, members = np.unique(np.round(mesh.vertices / size), axis=0, return_inverse=True)
    members = members.ravel()
    sums = np.stack([np.bincount(members, w, len(cells)) for w in mesh.vertices.T], axis=1)
    vertices = sums / np.bincount(members, minlength=len(cells))[:, None]
    return trimesh.Trimesh(vertices, members[mesh.faces], process=True, validate=True)


def edged(mesh: Any) -> PlainMesh:
    """With vertices split along sharp edges, so that those are not shaded round."""
    import trimesh

    shaded = trimesh.graph.smooth_shade(mesh, angle=SHARP)
    return PlainMesh.of(shaded.vertices, shaded.faces)


def _turn_from_z(way: np.ndarray) -> np.ndarray:
    """The turn (4,) wxyz that takes z to a unit vector."""
    if way[2] < -1 + 1e-9:
        return np.concatenate([[0.0], X_AXIS])
    half = np.concatenate([[1 + way[2]], np.cross(Z_AXIS, way)])
    return half / np.linalg.norm(half)
