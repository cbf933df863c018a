"""The flat side that convex shapes of a link turn to the floor: the sole of a foot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapless.robots.support_shapes import SupportShape

SOLE_AREA = 4e-4
"""Smallest area of a sole, m²; a foot with less is a point."""
STEEP = 0.4
"""Largest angle between a sole and the floor in the default pose, rad."""
FLAT = 0.03
"""Facets whose normals differ by less are one sole, rad."""


def flat_side(
    shapes: Sequence[SupportShape], down: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Outward normal and (P, 3) corners of the largest flat side that faces down, link's frame.

    Args:
        shapes: of one link.
        down: (3,) in the link's frame.

    Returns:
        None where there is none: a point or an edge.
    """
    normal, side = down, None
    for _ in range(3):  # a round shape shows its bottom only when it is looked at from there
        side = _seen_from(shapes, normal, down)
        if side is None:
            break
        normal = side[0]
    return side


def _seen_from(
    shapes: Sequence[SupportShape], about: np.ndarray, down: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    from scipy.spatial import ConvexHull, QhullError

    points = np.concatenate([shape.farthest(_cone(about)) for shape in shapes])
    try:
        hull = ConvexHull(points)
    except QhullError:  # a flat mesh, or a point
        return None
    corners = points[hull.simplices]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    normals = hull.equations[:, :3]
    area = np.where(normals @ down > np.cos(STEEP), area / 2, 0.0)
    alike = normals @ normals.T > np.cos(FLAT)
    sizes = alike @ area
    best = int(sizes.argmax())
    if sizes[best] < SOLE_AREA:
        return None
    side = alike[best] & (area > 0)
    normal = (normals[side] * area[side, None]).sum(axis=0)
    return normal / np.linalg.norm(normal), corners[side].reshape(-1, 3)


def _cone(about: np.ndarray) -> np.ndarray:
    """Unit directions around one: itself, its opposite (so that a box has a height), and rings."""
    rings = [np.cos(a) * about + np.sin(a) * ring_around(about, 16) for a in (0.02, 0.2, 0.5)]
    return np.concatenate([about[None], -about[None], *rings])


def ring_around(normal: np.ndarray, count: int, turn: float = 0.0) -> np.ndarray:
    """(count, 3) unit vectors at right angles to one, evenly spread, the first turned by `turn`."""
    first, second = tangents(normal)
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)[:, None] + turn
    return np.cos(angles) * first + np.sin(angles) * second


def tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two (..., 3) unit vectors at right angles to (..., 3) unit vectors and to each other."""
    helper = np.where(np.abs(normal[..., :1]) < 0.7, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return first, np.cross(normal, first)
