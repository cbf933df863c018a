"""Motions of a file in the viewer: the robot as it is asked to move, and the person beside it."""

from __future__ import annotations

from collections.abc import Sequence

from gapless.measurement.side_by_side import SideBySide, Track
from gapless.motions import Motion
from gapless.reports.viewer_sources import numbered
from gapless.robots import Robot

ASKED = "motion"
"""Name of the robot that does exactly what is asked."""


class MotionSource:
    """Motions of one robot; see `Source`.

    Args:
        motions: as `read_motions` gives them.
        robot: whose joints they move.
    """

    def __init__(self, motions: Sequence[Motion], robot: Robot) -> None:
        based = any(motion.base_pos is not None for motion in motions)
        self.robot = robot.with_mount("free") if based else robot
        self._motions = list(motions)
        self.names = numbered([motion.name for motion in motions])
        self.tracks: tuple[str, ...] = (ASKED,)

    def clip(self, i: int) -> tuple[SideBySide, str]:
        """A motion, and who is who."""
        motion = self._motions[i].for_robot(self.robot)
        track = Track(motion.q, motion.base_pos, motion.base_quat_wxyz)
        clip = SideBySide(
            name=motion.name,
            unit=None,
            payload=None,
            joints=motion.joints,
            rate=motion.rate,
            horizon="full",
            target=motion.q,
            tracks={ASKED: track},
            person=motion.person,
        )
        who = " The person whom it was taken from stands beside it." if motion.person else ""
        return clip, f"What is asked of the robot, not simulated.{who}"
