"""The feet of a robot: what it stands on in its default pose, and where their soles are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from gapless.errors import ModelError
from gapless.robots import Kinematics, Robot
from gapless.robots.rotations import conj, rotate
from gapless.robots.support_shapes import SupportShape

LOW = 0.03
"""A link that reaches this near to the lowest point of the default pose is a foot, m."""
SOLE_AREA = 4e-4
"""Smallest area of a sole, m²; a foot with less is a point."""
STEEP = 0.4
"""Largest angle between a sole and the floor in the default pose, rad."""
FLAT = 0.03
"""Facets whose normals differ by less are one sole, rad."""
CORNERS = 8
"""Points by which a sole is known."""
DOWN = np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True)
class Foot:
    """A link that stands on the floor.

    Attributes:
        link: the link.
        shapes: all of its shapes that can touch the floor.
        sole: (P, 3) corners of the sole, link's frame; the lowest point alone for a point foot.
        up: (3,) what is upward while the sole is flat on the floor; None for a point foot.
    """

    link: str
    shapes: tuple[SupportShape, ...]
    sole: np.ndarray
    up: np.ndarray | None

    def reach(self, direction: np.ndarray) -> np.ndarray:
        """(...) how far the foot reaches along unit directions of the link's frame, m."""
        return np.max([shape.reach(direction) for shape in self.shapes], axis=0)

    def farthest(self, direction: np.ndarray) -> np.ndarray:
        """(T, 3) its farthest points along (T, 3) unit directions of the link's frame."""
        best = np.argmax([shape.reach(direction) for shape in self.shapes], axis=0)
        points = np.stack([shape.farthest(direction) for shape in self.shapes])
        return points[best, np.arange(len(direction))]


def feet_of(robot: Robot, kinematics: Kinematics, shapes: Sequence[SupportShape]) -> list[Foot]:
    """The feet: the link group "feet" where the robot has one, else the lowest leaf links.

    Args:
        robot: mounted free.
        kinematics: of it.
        shapes: what of it can touch the floor.
    """
    if not shapes:
        raise ModelError(
            f"robot {robot.name!r} has no shape that can touch the floor; "
            "give its feet collision geoms (contype or conaffinity above 0)"
        )
    _, quat = kinematics.link_poses(robot.joints.default, np.zeros(3), np.array([1.0, 0, 0, 0]))
    down = {k: rotate(conj(quat[0, i]), DOWN) for i, k in enumerate(kinematics.links)}
    own = {link: tuple(s for s in shapes if s.link == link) for link in _links(shapes)}
    named = [link for link in robot.link_groups.get("feet", ()) if link in own]
    return [_foot(link, own[link], down[link]) for link in named or _lowest(robot, kinematics, own)]


def _links(shapes: Sequence[SupportShape]) -> list[str]:
    return list(dict.fromkeys(shape.link for shape in shapes))


def _lowest(
    robot: Robot, kinematics: Kinematics, own: dict[str, tuple[SupportShape, ...]]
) -> list[str]:
    """The links that reach lowest in the default pose, without those that carry another of them."""
    pos, quat = kinematics.link_poses(robot.joints.default, np.zeros(3), np.array([1.0, 0, 0, 0]))
    bottom = {}
    for link, shapes in own.items():
        i = kinematics.links.index(link)
        down = rotate(conj(quat[0, i]), DOWN)
        bottom[link] = pos[0, i, 2] - max(float(shape.reach(down)) for shape in shapes)
    low = [link for link, z in bottom.items() if z < min(bottom.values()) + LOW]
    carriers = {parent for link in low for parent in _above(kinematics, link)}
    return [link for link in low if link not in carriers]


def _above(kinematics: Kinematics, link: str) -> list[str]:
    found, i = [], kinematics.parents[kinematics.links.index(link)]
    while i >= 0:
        found.append(kinematics.links[i])
        i = kinematics.parents[i]
    return found


def _foot(link: str, shapes: tuple[SupportShape, ...], down: np.ndarray) -> Foot:
    normal, sole = down, None
    for _ in range(3):  # a round shape shows its bottom only when it is looked at from there
        sole = _sole(shapes, normal, down)
        if sole is None:
            break
        normal, corners = sole
    if sole is None:
        foot = Foot(link, shapes, np.zeros((1, 3)), None)
        return Foot(link, shapes, foot.farthest(down[None]), None)
    return Foot(link, shapes, corners, -normal)


def _sole(
    shapes: Sequence[SupportShape], about: np.ndarray, down: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Outward normal and corners of the largest flat side that faces down; None if it has none."""
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
    normal /= np.linalg.norm(normal)
    return normal, _outline(corners[side].reshape(-1, 3), normal)


def _cone(about: np.ndarray) -> np.ndarray:
    """Unit directions around one: itself, its opposite (so that a box has a height), and rings."""
    first, second = tangents(about)
    turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)[:, None]
    ring = np.cos(turn) * first + np.sin(turn) * second
    tilted = [np.cos(a) * about + np.sin(a) * ring for a in (0.02, 0.2, 0.5)]
    return np.concatenate([about[None], -about[None], *tilted])


def tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two (..., 3) unit vectors at right angles to (..., 3) unit vectors and to each other."""
    helper = np.where(np.abs(normal[..., :1]) < 0.7, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    first = np.cross(normal, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return first, np.cross(normal, first)


def _outline(points: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The farthest of these points in each of some directions at right angles to the normal."""
    first, second = tangents(normal)
    turn = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)[:, None] + np.pi / CORNERS
    ring = np.cos(turn) * first + np.sin(turn) * second
    return points[np.unique((ring @ points.T).argmax(axis=1))]
