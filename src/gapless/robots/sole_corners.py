"""The few spheres that a foot can stand on as it stands on all of its shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import ModelError
from gapless.robots.build import HOME
from gapless.robots.flat_sides import flat_side, ring_around, tangents
from gapless.robots.inertia import Floor
from gapless.robots.polygons import FEWEST, MOST, area, outline, outside, simplified
from gapless.robots.simple_feet import SimpleFoot
from gapless.robots.support_shapes import SupportShape, meeting_floor, support_shape
from gapless.robots.tree import Shape

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

LEAST_RADIUS = 0.002
"""Of a sphere at the corner of a box or a mesh, m."""
FLAT_DISC = 0.1
"""A ball that is pressed to less than this share of its width along the sole's normal is a disc."""


@dataclass(frozen=True)
class _FootPart:
    """A shape of a foot that can touch the floor, in the frame of the link that carries it."""

    geom: int
    shape: SupportShape
    contacts: int

    def bottom(self, normal: np.ndarray) -> np.ndarray:
        """(N, 3) points with which it may rest on a plane whose normal points away from it."""
        thick, width = np.linalg.norm(normal @ self.shape.ball), np.linalg.norm(self.shape.ball, 2)
        disc = thick < FLAT_DISC * width
        seen = ring_around(normal, 32) if disc else normal[None]  # a disc rests on its rim
        balls = [replace(self.shape, points=point[None]) for point in self.shape.points]
        return np.concatenate([ball.farthest(seen) for ball in balls])


def find_simple_feet(
    robot: Robot, tolerance: float
) -> tuple[tuple[SimpleFoot, ...], tuple[str, ...]]:
    """Spheres for every foot that has more contact points than it needs, and a line on each foot.

    Args:
        robot: the one whose feet they are.
        tolerance: by which a point of the support polygon may be lost, m.
    """
    if not 0 < tolerance < np.inf:
        raise ModelError(f"tolerance is {tolerance} m; it must be above 0")
    links = robot.feet
    if not links:
        return (), ("it has no feet; nothing was replaced",)
    model, data = _at_home(robot)
    found, lines = [], []
    for link in links:
        foot, line = _simple_foot(model, data, robot.check_link(link), tolerance)
        found += [] if foot is None else [foot]
        lines.append(f"{link}: {line}")
    return tuple(found), tuple(lines)


def _at_home(robot: Robot) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The robot with the shapes that its body has, upright in its default pose."""
    import mujoco

    own = {"payloads": {}, "soles": {}, "simple_feet": (), "floor": Floor()}
    model = replace(robot, mount="fixed", height=0.0, **own).model()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(HOME).id)
    mujoco.mj_kinematics(model, data)
    return model, data


def _simple_foot(
    model: mujoco.MjModel, data: mujoco.MjData, link: str, tolerance: float
) -> tuple[SimpleFoot | None, str]:
    parts = _parts(model, model.body(link).id)
    if sum(part.contacts for part in parts) <= FEWEST:
        return None, f"its shapes were kept, which touch a plane in {FEWEST} points at most"
    carrier, kept = data.body(parts[0].shape.link), "its shapes were kept, for they"
    side = flat_side([part.shape for part in parts], -carrier.xmat.reshape(3, 3)[2])
    if side is None:
        return None, f"{kept} have no flat side"
    sole = _sole(parts, side[0], tolerance)
    if sole is None:
        return None, f"{kept} rest on an edge"
    corners = simplified(sole.corners, tolerance)
    if corners is None:
        return None, f"{kept} need more than {MOST} corners for {1e3 * tolerance:g} mm"
    if len(corners) >= sum(part.contacts for part in sole.parts):
        return None, f"{kept} have no more contact points than corners"
    return _spheres(model, data, link, sole, corners), sole.told(corners)


def _parts(model: mujoco.MjModel, foot: int) -> list[_FootPart]:
    """The shapes of a link, and of those welded below it, that can touch the floor."""
    geoms = [g for g in meeting_floor(model) if _carries(model, foot, int(model.geom_bodyid[g]))]
    shapes = [(g, support_shape(model, g)) for g in geoms]
    return [_FootPart(g, s, _contacts(model, g)) for g, s in shapes if s is not None]


def _carries(model: mujoco.MjModel, foot: int, body: int) -> bool:
    while body != foot and model.body_weldid[body] != body:
        body = int(model.body_parentid[body])
    return body == foot


def _contacts(model: mujoco.MjModel, geom: int) -> int:
    """The most points in which MuJoCo lets a shape touch a plane."""
    import mujoco

    kinds = mujoco.mjtGeom
    most = {kinds.mjGEOM_SPHERE: 1, kinds.mjGEOM_ELLIPSOID: 1, kinds.mjGEOM_CAPSULE: 2}
    return {**most, kinds.mjGEOM_MESH: 3}.get(kinds(model.geom_type[geom]), 4)


@dataclass(frozen=True)
class _Sole:
    """The side of a foot that stands on the floor, in the frame of the link that carries it.

    Attributes:
        parts: that reach it.
        normal: (3,) away from the foot.
        level: how far along the normal it is, m.
        points: (N, 2) with which the parts rest on it, along its tangents.
        owners: (N,) the part of each.
        corners: (V, 2) their hull.
    """

    parts: list[_FootPart]
    normal: np.ndarray
    level: float
    points: np.ndarray
    owners: np.ndarray
    corners: np.ndarray

    def owner(self, corner: np.ndarray) -> int:
        """The part that is nearest to a point of the sole."""
        return int(self.owners[np.linalg.norm(self.points - corner, axis=1).argmin()])

    def told(self, corners: np.ndarray) -> str:
        """What becomes of the support polygon, in a line for people."""
        lost, share = outside(self.corners, corners).max(), area(corners) / area(self.corners)
        return (
            f"{len(corners)} spheres stand for {len(self.parts)} shapes; no point of the support "
            f"polygon is lost by more than {1e3 * lost:.1f} mm, and {100 * share:.0f} % of its "
            "area is left"
        )


def _sole(parts: list[_FootPart], normal: np.ndarray, tolerance: float) -> _Sole | None:
    """What lies within the tolerance of the plane that the parts rest on; None for an edge."""
    bottoms = [part.bottom(normal) for part in parts]
    level = max(float(part.shape.reach(normal)) for part in parts)
    low = [points[points @ normal > level - tolerance] for points in bottoms]
    reaching = [k for k, points in enumerate(low) if len(points)]
    owners = np.repeat(np.arange(len(reaching)), [len(low[k]) for k in reaching])
    points = np.concatenate(low) @ np.stack(tangents(normal), axis=1)
    corners = outline(points)
    if corners is None:
        return None
    return _Sole([parts[k] for k in reaching], normal, level, points, owners, corners)


def _spheres(
    model: mujoco.MjModel, data: mujoco.MjData, link: str, sole: _Sole, corners: np.ndarray
) -> SimpleFoot:
    """A sphere at each corner, as round as the shape there."""
    foot, carrier = data.body(link), data.body(sole.parts[0].shape.link)
    like = [sole.owner(corner) for corner in corners]
    balls = [sole.parts[k].shape.ball for k in like]
    radii = [max(LEAST_RADIUS, float(np.linalg.norm(sole.normal @ ball))) for ball in balls]
    across = corners @ np.stack(tangents(sole.normal))
    centres = across + (sole.level - np.array(radii))[:, None] * sole.normal
    placed = carrier.xpos + centres @ carrier.xmat.reshape(3, 3).T - foot.xpos
    places = (placed @ foot.xmat.reshape(3, 3)).tolist()
    spheres = [Shape(link, "sphere", (r,), tuple(p)) for r, p in zip(radii, places, strict=True)]
    replaced = tuple(_number(model, part.geom) for part in sole.parts)
    return SimpleFoot(tuple(spheres), tuple(like), replaced)


def _number(model: mujoco.MjModel, geom: int) -> tuple[str, int]:
    """The link of a geom, and its place among those of the link."""
    body = int(model.geom_bodyid[geom])
    return model.body(body).name, geom - int(model.body_geomadr[body])
