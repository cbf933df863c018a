"""The robot's own doubt: no command for a while, or one that is none, and it damps for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.deployment.gantry import Gantry
from gapless.deployment.links.world_link import WorldLink
from gapless.deployment.robot_link import JointCommand, LinkState

if TYPE_CHECKING:
    from gapless.worlds.world import State, World


class CommandWatchdog:
    """Before the first command a robot waits, damped; after silence it does not wake up again.

    Args:
        patience: s without a command.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.tripped = False
        self._heard: float | None = None

    def hear(self, now: float) -> None:
        """A command came that was whole and new."""
        self._look(now)
        self._heard = now

    def damps(self, now: float) -> bool:
        """Whether the robot must damp now."""
        self._look(now)
        return self.tripped or self._heard is None

    def _look(self, now: float) -> None:
        if self._heard is not None and now - self._heard > self.patience:
            self.tripped = True


class WatchedBody:
    """A World that obeys the last command as long as commands keep coming.

    Args:
        world: the robot.
        start: (1, ...) where it begins.
        patience: s without a command.
        gantry: that it hangs on at first.
    """

    def __init__(
        self, world: World, start: State | None, patience: float, gantry: Gantry | None = None
    ) -> None:
        self.link = WorldLink(world, start, gantry=gantry)
        self.watchdog = CommandWatchdog(patience)
        self._command: JointCommand | None = None

    @property
    def commanded(self) -> bool:
        """Whether anybody ever told it anything."""
        return self._command is not None

    def hear(self, command: JointCommand, now: float) -> None:
        """Take a command over; one that is no command trips the watchdog."""
        arrays = (command.q, command.dq, command.kp, command.kd, command.tau)
        if not all(np.isfinite(array).all() for array in arrays):
            self.watchdog.tripped = True
            return
        self.watchdog.hear(now)
        self._command = command

    def live(self, now: float) -> LinkState:
        """One control step."""
        if self._command is None or self.watchdog.damps(now):
            self.link.damp()
        else:
            self.link.write(self._command)
        return self.link.read()
