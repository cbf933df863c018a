"""The person whose motion a robot does, as bones beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gapless.motions.retargeting.person import PARENTS
from gapless.reports.scene_stage import GROUND

if TYPE_CHECKING:
    import viser

COLOUR = (230, 126, 34)
ASIDE = 1.0
"""How far the person stands from where the robot is, m, to its left."""
THICK = 0.03
"""Of a bone, m."""


class PersonFigure:
    """Bones of a person in a scene; nothing where a clip has none.

    Args:
        scene: where it stands.
    """

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene, self._lines = scene, None
        self._bones = np.zeros((0, 0, 2, 3), np.float32)

    def take(self, person: Mapping[str, np.ndarray], frames: np.ndarray) -> None:
        """Show another person.

        Args:
            person: keypoint -> (T, 3), m.
            frames: (N,) samples that are drawn.
        """
        if self._lines is not None:
            self._lines.remove()
            self._lines = None
        pairs = [(a, b) for a, b in PARENTS.items() if a in person and b in person]
        if pairs:
            ends = [np.stack([person[a][frames], person[b][frames]], axis=1) for a, b in pairs]
            aside = np.array([0.0, ASIDE, 0.0])
            self._bones = (np.stack(ends, axis=1) + aside).astype(np.float32)
            self._lines = self._scene.add_line_segments(
                f"/{GROUND}/person", self._bones[0], colors=COLOUR, thickness=THICK
            )

    def pose(self, frame: int) -> None:
        """Take the pose of a frame."""
        if self._lines is not None:
            self._lines.points = self._bones[frame]
