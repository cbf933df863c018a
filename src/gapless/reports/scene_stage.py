"""What robots stand on and where one looks from; a robot that walks away is followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapless.measurement.side_by_side import SideBySide
from gapless.reports.ghosts import solid_of
from gapless.reports.rig import Rig
from gapless.robots.rotations import rotate

if TYPE_CHECKING:
    import viser

FIELD = 0.6
"""Vertical field of view, rad."""
FRONT = np.array([0.86, 0.46, 0.22]) / np.linalg.norm([0.86, 0.46, 0.22])
"""From where one looks at a robot that faces along x."""
FARTHEST = 30.0
"""How far the floor reaches from its middle at most, m, also where a simulation broke down."""
GROUND = "ground"
"""Node of a scene that floor and robots stand on."""


def frames_of(clip: SideBySide, fps: float) -> np.ndarray:
    """(N,) samples to draw."""
    step = max(clip.rate / fps, 1.0)
    return np.unique(np.round(np.arange(0, len(clip.target) - 1e-9, step)).astype(int))


@dataclass(frozen=True)
class Sight:
    """Where one looks, and from how far away, m, to see a robot in a picture nearly square."""

    centre: np.ndarray
    distance: float

    def camera(self, aspect: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Place and aim (3,) of a camera; on a phone the controls cover the lower half."""
        if aspect >= 1.0:
            return self.centre + self.distance * FRONT, self.centre
        distance = 1.2 * self.distance / aspect
        aim = self.centre - [0.0, 0.0, 0.6 * distance * np.tan(0.5 * FIELD)]
        return aim + distance * FRONT, aim

    def differs(self, other: Sight) -> bool:
        """Whether who looks from one hardly sees what the other shows."""
        moved = float(np.linalg.norm(self.centre - other.centre))
        return moved > 0.4 * other.distance or not 0.6 < self.distance / other.distance < 1.6


class SceneStage:
    """Floor and camera of a scene.

    Args:
        server: of the scene.
        rig: the robot.
        clip: what is shown first.
        fps: pictures a second, as robots are posed.

    Attributes:
        sight: where one looks.
    """

    def __init__(self, server: viser.ViserServer, rig: Rig, clip: SideBySide, fps: float) -> None:
        self._server, self._rig, self._fps = server, rig, fps
        self._ground = server.scene.add_frame(f"/{GROUND}", show_axes=False)
        self.set(clip)

    def set(self, clip: SideBySide) -> None:
        """Suit floor and camera to the solid robot of a clip."""
        self._shift = self._followed(clip, frames_of(clip, self._fps))
        points = self._corners(clip, frames_of(clip, 2.0))
        low, high = points.min(axis=0), points.max(axis=0)
        self.sight = Sight(0.5 * (low + high), _distance(points - 0.5 * (low + high)))
        self._lay_floor(clip, low, high)
        camera = self._server.initial_camera
        camera.fov = FIELD
        camera.position, camera.look_at = self.sight.camera()
        self.follow(0)

    def follow(self, frame: int) -> None:
        """Move the ground so that a robot that walks away stays in view."""
        place = np.append(-self._shift[min(frame, len(self._shift) - 1)], 0.0)
        if (place != self._ground.position).any():
            self._ground.position = place

    def _followed(self, clip: SideBySide, frames: np.ndarray) -> np.ndarray:
        """(N, 2) where the solid robot is, m, if it goes farther than it is tall; else nothing."""
        path = self._path(clip, solid_of(clip.tracks), frames)
        return path if np.ptp(path, axis=0).max() > self._rig.size else np.zeros((1, 2))

    def _path(self, clip: SideBySide, track: str, frames: np.ndarray) -> np.ndarray:
        """(N, 2) of the root link."""
        root = self._rig.links.index(self._rig.robot.root)
        return self._rig.world_poses(clip, track, frames)[0][:, root, :2]

    def _lay_floor(self, clip: SideBySide, low: np.ndarray, high: np.ndarray) -> None:
        """A floor below all that robots of a clip reach; `low` and `high` (3,) are seen."""
        cell = 0.5 if (high - low).max() > 0.8 else 0.1
        low_xy, high_xy = self._reached(clip, low, high)
        side = 2 * cell * float(np.ceil((high_xy - low_xy).max() / cell / 2 + 4))
        middle = np.round(0.5 * (low_xy + high_xy) / (2 * cell)) * 2 * cell
        self._server.scene.add_grid(
            f"/{GROUND}/floor",
            width=side,  # an endless one is ten times slower to draw
            height=side,
            cell_size=cell,
            section_size=2 * cell,
            cell_color=(225, 225, 225),
            section_color=(190, 190, 190),
            position=(*middle, min(0.0, float(low[2]))),
            shadow_opacity=0.25,
        )

    def _reached(
        self, clip: SideBySide, low: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Corners (2,) of all places where robots go, ghosts too, that are not absurdly far."""
        paths = [self._path(clip, name, frames_of(clip, 2.0)) for name in clip.tracks]
        start = self._shift[0]
        points = np.concatenate([*paths, [low[:2] + start, high[:2] + start]])
        near = np.clip(points, start - FARTHEST, start + FARTHEST)
        return near.min(axis=0), near.max(axis=0)

    def _corners(self, clip: SideBySide, frames: np.ndarray) -> np.ndarray:
        """(N, 3) corners of the solid robot's links, wherever they are seen."""
        solid = solid_of(clip.tracks)
        pos, quat = self._rig.world_poses(clip, solid, frames)
        if len(self._shift) > 1:
            pos[..., :2] -= self._path(clip, solid, frames)[:, None]
        found = [pos.reshape(-1, 3)]
        for i, link in enumerate(self._rig.links):
            if link in self._rig.meshes:
                box = self._rig.meshes[link].vertices
                corners = np.array(np.meshgrid(*zip(box.min(0), box.max(0), strict=True)))
                found.append(rotate(quat[:, i, None], corners.reshape(3, -1).T) + pos[:, i, None])
        return np.concatenate([points.reshape(-1, 3) for points in found])


def _distance(points: np.ndarray) -> float:
    """How far away a camera sees all points (N, 3), in a picture that is nearly square."""
    right = np.cross([0.0, 0.0, 1.0], FRONT)
    right /= np.linalg.norm(right)
    aside = np.abs(points @ np.stack([right, np.cross(FRONT, right)], axis=1)).max(axis=1)
    return float((1.1 * aside / np.tan(0.5 * FIELD) + points @ FRONT).max())
