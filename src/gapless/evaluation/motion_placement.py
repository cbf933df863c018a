"""Where a motion is laid: from the place, and into the direction, in which an episode starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.policy_episodes import Episodes
from gapless.motions.motion import Motion
from gapless.robots.rotations import about, conj, mul, rotate

UP = np.array([0.0, 0.0, 1.0])
LEVEL = np.array([1.0, 1.0, 0.0])
"""Heights are the world's own."""


@dataclass(frozen=True)
class MotionPlacement:
    """A motion moved about the floor to n episodes.

    Attributes:
        turn: (n, 4) about the vertical.
        origin: (3,) where the motion starts, m, without its height.
        start: (n, 3) where the episodes start, m, without their height.
    """

    turn: np.ndarray
    origin: np.ndarray
    start: np.ndarray

    @classmethod
    def of(cls, motion: Motion, episodes: Episodes) -> MotionPlacement:
        """That of episodes which were asked for a motion."""
        pos, quat = motion.base_pos, motion.base_quat_wxyz
        if pos is None or quat is None:
            raise DataError(f"motion {motion.name!r} says nothing of its base; errors need it")
        first_pos, first_quat = episodes.states.base_pos, episodes.states.base_quat_wxyz
        assert first_pos is not None and first_quat is not None
        turn = mul(_heading(first_quat[:, 0]), conj(_heading(quat[:1])))
        return cls(turn, LEVEL * pos[0], LEVEL * first_pos[:, 0])

    def moved(self, places: np.ndarray) -> np.ndarray:
        """(n, T, ..., 3) where places (T, ..., 3) of the motion are for each episode, m."""
        away = places[None] - self.origin
        turns = self.turn.reshape(len(self.turn), *[1] * (away.ndim - 2), 4)
        start = self.start.reshape(len(self.turn), *[1] * (away.ndim - 2), 3)
        return rotate(turns, away) + start

    def returned(
        self, row: int, pos: np.ndarray, quat: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Poses (T, 3) and (T, 4) of an episode, seen from where the motion itself starts."""
        back = conj(self.turn[row])
        return rotate(back, pos - self.start[row]) + self.origin, mul(back, quat)


def _heading(quat: np.ndarray) -> np.ndarray:
    """(n, 4) turn about the vertical alone."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    return about(UP, np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
