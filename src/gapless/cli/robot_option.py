"""The dataset and the robot that a command is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.recordings import Dataset, robot_of
from gapless.robots import Robot


@dataclass(frozen=True, kw_only=True)
class OfRobot:
    """Options of every command that is about the robot of recordings."""

    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the dataset's own by default."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; as the recordings say by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""


@dataclass(frozen=True, kw_only=True)
class OfDataset(OfRobot):
    """Options of every command that is about a dataset and its robot."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset; make one with gapless import or gapless collect."""

    def opened(self) -> tuple[Dataset, Robot]:
        """The dataset and the robot."""
        dataset = Dataset.open(self.dataset)
        return dataset, robot_of(dataset, self.robot, self.mount, self.lock)
