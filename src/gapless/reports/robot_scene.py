"""Robots in a 3D scene, and a recorded scene as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.colours import COLOURS, Colour, rgb
from gapless.reports.rig import Poses, Rig
from gapless.reports.serving import served
from gapless.robots import Robot
from gapless.robots.rotations import rotate

if TYPE_CHECKING:
    import viser

BODY: Colour = (176, 190, 210)
"""Of the real robot."""
OTHERS: tuple[Colour, ...] = ((148, 103, 189), (23, 160, 190), (140, 86, 75))
GHOST = 0.4
"""Opacity of a simulated robot."""
THINNER = 0.0008
"""By how much a ghost is thinner than what is in front of it, as a share of the robot's size."""
FIELD = 0.6
"""Vertical field of view, rad."""
FRONT = np.array([0.86, 0.46, 0.22]) / np.linalg.norm([0.86, 0.46, 0.22])
"""From where one looks at a robot that faces along x."""


def colour_of(track: str, tracks: Mapping[str, Any]) -> Colour:
    """The colour that a track has in every scene."""
    if track == REAL:
        return BODY
    others = [name for name in tracks if name not in COLOURS]
    return rgb(COLOURS[track]) if track in COLOURS else OTHERS[others.index(track) % len(OTHERS)]


class Figure:
    """One robot in a scene: solid for what was real, else a ghost.

    Args:
        scene: where it stands.
        rig: the robot.
        node: name of its place in the scene; never a word of a log, as "/" has a meaning there.
        colour: of all links.
        ghost: 0 for a solid robot; else it shines through, casts no shadow, and is thinner the
            larger the number, so that nothing is seen of it where it is where the solid one is.
    """

    def __init__(
        self, scene: viser.SceneApi, rig: Rig, node: str, colour: Colour, ghost: int
    ) -> None:
        self.root = scene.add_frame(f"/{node}", show_axes=False)
        self.colour = colour
        looks = {
            "color": colour,
            "opacity": GHOST if ghost else None,
            "cast_shadow": not ghost,
            "receive_shadow": not ghost,
        }
        self._nodes: list[Any] = []
        for i, (link, parent) in enumerate(zip(rig.links, rig.parents, strict=True)):
            above = self.root if parent < 0 else self._nodes[parent]
            mesh, name = rig.meshes.get(link), f"{above.name}/{i}"
            if mesh is None:
                self._nodes.append(scene.add_frame(name, show_axes=False))
            else:
                thin = mesh.thinner(ghost * THINNER * rig.size)
                self._nodes.append(scene.add_mesh_simple(name, thin.vertices, thin.faces, **looks))
        self._colours = [colour] * len(rig.links)
        self._pos, self._quat = (np.full((len(rig.links), n), np.nan) for n in (3, 4))

    def pose(self, poses: Poses, frame: int) -> None:
        """Take the pose of a frame; only what differs from the last one is sent."""
        pos, quat = poses.pos[frame], poses.quat_wxyz[frame]
        for i in np.flatnonzero((pos != self._pos).any(axis=1)):
            self._nodes[i].position = pos[i]
        for i in np.flatnonzero((quat != self._quat).any(axis=1)):
            self._nodes[i].wxyz = quat[i]
        self._pos, self._quat = pos, quat

    def paint(self, colours: list[Colour]) -> None:
        """Give each link a colour; only what differs is sent."""
        for i, (node, colour) in enumerate(zip(self._nodes, colours, strict=True)):
            if colour != self._colours[i] and hasattr(node, "color"):
                node.color = colour
        self._colours = list(colours)


def static_scene(robot: Robot, clip: SideBySide, fps: float = 25.0, dark: bool = False) -> str:
    """A clip as one HTML page with its own playback, without any reference to elsewhere.

    Args:
        robot: of the clip.
        clip: what to show; solid for the recording, a ghost for each simulator.
        fps: pictures a second, at most the clip's own rate.
        dark: on a dark ground.
    """
    rig = Rig(robot)
    frames = frames_of(clip, fps)
    tracks = {name: rig.poses(clip, name, frames) for name in clip.tracks}
    with served() as server:
        set_stage(server, rig, clip)
        figures = {
            name: Figure(server.scene, rig, f"robot_{k}", colour_of(name, clip.tracks), ghost=k)
            for k, name in enumerate(tracks)
        }
        for name, figure in figures.items():
            figure.pose(tracks[name], 0)
        recorder = server.get_scene_serializer()
        for k in range(1, len(frames)):
            recorder.insert_sleep(float(frames[k] - frames[k - 1]) / clip.rate)
            for name, figure in figures.items():
                figure.pose(tracks[name], k)
        recorder.insert_sleep(1 / fps)
        return recorder.as_html(dark_mode=dark)


def frames_of(clip: SideBySide, fps: float) -> np.ndarray:
    """(N,) samples to draw."""
    step = max(clip.rate / fps, 1.0)
    return np.unique(np.round(np.arange(0, len(clip.target) - 1e-9, step)).astype(int))


@dataclass(frozen=True)
class Sight:
    """Where one looks, and from how far away, m, to see a robot in a picture nearly square."""

    centre: np.ndarray
    distance: float

    def in_upright_picture(self, aspect: float) -> tuple[np.ndarray, np.ndarray]:
        """Place and aim (3,) of a camera on a phone, whose lower half the controls cover."""
        distance = 1.2 * self.distance / aspect
        aim = self.centre - [0.0, 0.0, 0.6 * distance * np.tan(0.5 * FIELD)]
        return aim + distance * FRONT, aim


def set_stage(server: viser.ViserServer, rig: Rig, clip: SideBySide) -> Sight:
    """Floor, light and a camera that has the recorded robot in view."""
    points = _corners(rig, clip)
    low, high = points.min(axis=0), points.max(axis=0)
    centre = 0.5 * (low + high)
    cell = 0.5 if (high - low).max() > 0.8 else 0.1
    side = 2 * cell * float(np.ceil((high - low)[:2].max() / cell / 2 + 4))
    server.scene.add_grid(
        "/floor",
        width=side,  # an endless one is ten times slower to draw
        height=side,
        cell_size=cell,
        section_size=2 * cell,
        cell_color=(225, 225, 225),
        section_color=(190, 190, 190),
        position=(*np.round(centre[:2] / (2 * cell)) * 2 * cell, min(0.0, float(low[2]))),
        shadow_opacity=0.25,
    )
    sight = Sight(centre, _distance(points - centre))
    camera = server.initial_camera
    camera.fov = FIELD
    camera.look_at = centre
    camera.position = centre + sight.distance * FRONT
    return sight


def _distance(points: np.ndarray) -> float:
    """How far away a camera sees all points (N, 3), in a picture that is nearly square."""
    right = np.cross([0.0, 0.0, 1.0], FRONT)
    right /= np.linalg.norm(right)
    aside = np.abs(points @ np.stack([right, np.cross(FRONT, right)], axis=1)).max(axis=1)
    return float((1.1 * aside / np.tan(0.5 * FIELD) + points @ FRONT).max())


def _corners(rig: Rig, clip: SideBySide) -> np.ndarray:
    """(N, 3) corners of the recorded robot's links, wherever they go."""
    pos, quat = rig.world_poses(clip, next(iter(clip.tracks)), frames_of(clip, 2.0))
    found = [pos.reshape(-1, 3)]
    for i, link in enumerate(rig.links):
        if link in rig.meshes:
            box = rig.meshes[link].vertices
            corners = np.array(np.meshgrid(*zip(box.min(0), box.max(0), strict=True)))
            found.append(rotate(quat[:, i, None], corners.reshape(3, -1).T) + pos[:, i, None])
    return np.concatenate([points.reshape(-1, 3) for points in found])
