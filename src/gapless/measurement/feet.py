"""The feet of a robot: what it stands on in its default pose, and where their soles are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import ModelError
from gapless.robots import Kinematics, Robot
from gapless.robots.flat_sides import flat_side, ring_around
from gapless.robots.rotations import conj, rotate
from gapless.robots.standing_links import DOWN, standing_links
from gapless.robots.support_shapes import SupportShape

CORNERS = 8
"""Points by which a sole is known."""


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
    """The feet of a robot that can touch the floor.

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
    named = [link for link in robot.feet if link in own] or standing_links(robot)
    return [_foot(link, own[link], down[link]) for link in named]


def _links(shapes: Sequence[SupportShape]) -> list[str]:
    return list(dict.fromkeys(shape.link for shape in shapes))


def _foot(link: str, shapes: tuple[SupportShape, ...], down: np.ndarray) -> Foot:
    side = flat_side(shapes, down)
    if side is None:
        foot = Foot(link, shapes, np.zeros((1, 3)), None)
        return Foot(link, shapes, foot.farthest(down[None]), None)
    normal, corners = side
    ring = ring_around(normal, CORNERS, np.pi / CORNERS)
    outline = corners[np.unique((ring @ corners.T).argmax(axis=1))]
    return Foot(link, shapes, outline, -normal)
