"""Gantry: what a simulated robot hangs on until it can stand, as a real one does."""

from __future__ import annotations

import numpy as np

from gapless.deployment.robot_link import JointCommand, LinkState
from gapless.recordings.preparation.orientation import up_in_body

STIFF, GRAVITY = 10.0, 9.81
"""1/s of the spring, critically damped; m/s²."""
RIGHTING = 4.0
"""1/s of the pendulum that it is below the hooks at its shoulders, critically damped."""


class Gantry:
    """Carries a robot's whole weight where it began, by its shoulders: softly, that rights it.

    It lets go for good so many seconds after the first command that does more than brake: time for
    a person to bring the robot to its stance, start a policy, and lower it.

    Args:
        seconds: from the first driving command to the release.
        rate: control steps per second of the world.
    """

    def __init__(self, seconds: float, rate: float) -> None:
        self._left, self._rate = round(seconds * rate), rate
        self._place: np.ndarray | None = None

    @property
    def holds(self) -> bool:
        """Whether the robot still hangs."""
        return self._left > 0

    def pull(self, state: LinkState, command: JointCommand) -> np.ndarray | None:
        """(6,) velocity, m/s, and turning rate, rad/s, that the rope gives within a control step.

        None is no rope.
        """
        if not self.holds or state.base_pos is None or state.base_lin_vel_w is None:
            return None
        self._left -= not command.damps
        place = self._place = state.base_pos if self._place is None else self._place
        back = STIFF**2 * (place - state.base_pos) - 2 * STIFF * state.base_lin_vel_w
        return np.r_[back + np.array([0.0, 0.0, GRAVITY]), _righted(state)] / self._rate


def _righted(state: LinkState) -> np.ndarray:
    """(3,) rad/s² that turn a robot upright, whichever way it faces, in its own frame."""
    assert state.base_quat_wxyz is not None and state.base_ang_vel_b is not None
    up = up_in_body(state.base_quat_wxyz[None])[0]
    spin = state.base_ang_vel_b - up * (up @ state.base_ang_vel_b)
    return RIGHTING**2 * np.cross([0.0, 0.0, 1.0], up) - 2 * RIGHTING * spin
