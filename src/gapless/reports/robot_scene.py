"""Robots in a 3D scene, and a recorded scene as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.colours import COLOURS, Colour, rgb
from gapless.reports.ghosts import ghosts_of
from gapless.reports.rig import Poses, Rig
from gapless.reports.scene_stage import GROUND, SceneStage, frames_of
from gapless.reports.serving import served
from gapless.robots import Robot

if TYPE_CHECKING:
    import viser

BODY: Colour = (176, 190, 210)
"""Of the real robot."""
OTHERS: tuple[Colour, ...] = ((148, 103, 189), (23, 160, 190), (140, 86, 75))
GHOST = 0.4
"""Opacity of a simulated robot."""
THINNER = 0.0008
"""By how much a ghost is thinner than what is in front of it, as a share of the robot's size."""


def colour_of(track: str, tracks: Mapping[str, Any]) -> Colour:
    """The colour that a track has in every scene."""
    if track == REAL:
        return BODY
    others = [name for name in tracks if name not in COLOURS]
    return rgb(COLOURS[track]) if track in COLOURS else OTHERS[others.index(track) % len(OTHERS)]


class Figure:
    """One robot in a scene, solid or a ghost.

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
        self.root = scene.add_frame(f"/{GROUND}/{node}", show_axes=False)
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
        clip: what to show; solid for the recording, a ghost for each simulator; without a
            recording the last simulator is solid.
        fps: pictures a second, at most the clip's own rate.
        dark: on a dark ground.
    """
    rig = Rig(robot)
    frames = frames_of(clip, fps)
    tracks = {name: rig.poses(clip, name, frames) for name in clip.tracks}
    with served() as server:
        stage = SceneStage(server, rig, clip, fps)
        figures = {
            name: Figure(server.scene, rig, f"robot_{k}", colour_of(name, clip.tracks), ghost=k)
            for name, k in ghosts_of(tracks).items()
        }
        for name, figure in figures.items():
            figure.pose(tracks[name], 0)
        recorder = server.get_scene_serializer()
        for k in range(1, len(frames)):
            recorder.insert_sleep(float(frames[k] - frames[k - 1]) / clip.rate)
            stage.follow(k)
            for name, figure in figures.items():
                figure.pose(tracks[name], k)
        recorder.insert_sleep(1 / fps)
        return recorder.as_html(dark_mode=dark)
