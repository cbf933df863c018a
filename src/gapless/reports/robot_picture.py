"""A drawing of a robot with a number at each joint, as SVG: where on the body something happens."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from gapless.reports.link_meshes import link_meshes
from gapless.reports.plain_meshes import PlainMesh
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import rotate

SIZE = 360
TURN, TILT = 0.5, 0.12
"""Angles of the view, rad: enough of the side to tell a shoulder's roll from its pitch."""

PIECES = 30
"""A mesh in more pieces than this is drawn as one: it is scanned, or its triangles do not touch."""

NONE, FULL = np.array([203, 206, 212]), np.array([214, 40, 40])
"""Colours from nothing to the largest value."""


def robot_svg(
    robot: Robot, values: Mapping[str, float], largest: float | None = None, label: str = ""
) -> str:
    """The robot in its default pose; joints are circles that grow and redden with their value.

    Args:
        robot: that is drawn.
        values: by joint; joints without one are not drawn.
        largest: the value that is drawn largest; the largest given by default.
        label: what the picture shows, for those who cannot see it.
    """
    kinematics = Kinematics.of(robot)
    outlines, places = _seen(robot, kinematics)
    top = largest or max(values.values(), default=0.0) or 1.0
    # The largest are drawn last, so that nothing hides them.
    circles = [
        _circle(places[kinematics.moved[joint]], joint, value, value / top)
        for joint, value in sorted(values.items(), key=lambda pair: pair[1])
        if joint in kinematics.moved
    ]
    return (
        f'<svg class="robot" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(label)}">'
        f"{''.join(map(_polygon, outlines))}{''.join(circles)}</svg>"
    )


def _seen(robot: Robot, kinematics: Kinematics) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Outlines of the links, the farthest first, and where each link's joint is."""
    position, turn = (part[0] for part in kinematics.link_poses(robot.joints.default))
    at = {name: i for i, name in enumerate(kinematics.links)}
    solid = {n: s for n, s in link_meshes(robot).items() if n in at}
    corners = [
        _projected(position[at[name]] + rotate(turn[at[name]], part))
        for name, mesh in solid.items()
        for part in _parts(mesh)
    ]
    origins = _projected(position)
    everything = np.concatenate([origins, *corners])[:, :2]
    low, high = everything.min(axis=0), everything.max(axis=0)
    scale = 0.92 * SIZE / max(float((high - low).max()), 1e-6)

    def on_paper(points: np.ndarray) -> np.ndarray:
        return (points[:, :2] - (low + high) / 2) * scale + SIZE / 2

    ordered = sorted(corners, key=lambda points: points[:, 2].mean())
    places = dict(zip(kinematics.links, on_paper(origins), strict=True))
    return [_outline(on_paper(points)) for points in ordered], places


def _parts(mesh: PlainMesh) -> list[np.ndarray]:
    """Corners of the pieces that hang together: a head is not to be drawn as one with a chest."""
    a, b = mesh.faces[:, [0, 1]].ravel(), mesh.faces[:, [1, 2]].ravel()
    count = len(mesh.vertices)
    touching = coo_array((np.ones(len(a)), (a, b)), shape=(count, count))
    found, label = connected_components(touching, directed=False)
    return [mesh.vertices[label == k] for k in range(found)] if found <= PIECES else [mesh.vertices]


def _projected(points: np.ndarray) -> np.ndarray:
    """(n, 3): to the right, down, and towards who looks from the front and a little aside."""
    x, y, z = points.T
    right = np.cos(TURN) * y - np.sin(TURN) * x
    near = np.cos(TURN) * x + np.sin(TURN) * y
    up = np.cos(TILT) * z - np.sin(TILT) * near
    return np.stack([right, -up, near], axis=1)


def _outline(points: np.ndarray) -> np.ndarray:
    try:
        return points[ConvexHull(points).vertices]
    except QhullError:  # a flat link seen from its edge
        return points[:2]


def _polygon(points: np.ndarray) -> str:
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _circle(at: np.ndarray, joint: str, value: float, share: float) -> str:
    share = float(np.clip(share, 0.0, 1.0))
    red, green, blue = (NONE + share * (FULL - NONE)).astype(int)
    return (
        f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{4 + 11 * share**0.5:.1f}" '
        f'fill="rgb({red},{green},{blue})"><title>{escape(joint)}: {value:.4g}</title></circle>'
    )
