"""DryRunLink: everything but writing. Whoever holds the robot goes on holding it."""

from __future__ import annotations

from collections.abc import Sequence

from gapless.deployment.robot_link import JointCommand, LinkState, RobotLink


class DryRunLink:
    """A link that reads, and sends nothing."""

    def __init__(self, link: RobotLink) -> None:
        self._link = link
        self.withheld = 0

    @property
    def joints(self) -> tuple[str, ...]:
        """Those of the link."""
        return self._link.joints

    @property
    def channels(self) -> Sequence[str]:
        """Those of the link."""
        return self._link.channels

    @property
    def is_real(self) -> bool:
        """As the link."""
        return self._link.is_real

    def read(self) -> LinkState | None:
        """The newest sample of the robot."""
        return self._link.read()

    def write(self, command: JointCommand) -> JointCommand:
        """Not sent; counted."""
        self.withheld += 1
        return command

    def damp(self) -> None:
        """Not sent either: whoever holds the robot goes on holding it."""

    def close(self) -> None:
        """Let go of the link."""
        self._link.close()
