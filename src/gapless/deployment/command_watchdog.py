"""CommandWatchdog: the robot's own doubt. No command for a while: it damps, for good."""

from __future__ import annotations


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
