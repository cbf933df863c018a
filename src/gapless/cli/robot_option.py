"""The robot that a command is about: as asked for, mounted and locked as the dataset says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.errors import ModelError
from gapless.recordings import Dataset
from gapless.robots import Robot


@dataclass(frozen=True, kw_only=True)
class OfDataset:
    """Options of every command that is about a dataset and its robot."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset; make one with gapless import or gapless collect."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the dataset's own by default."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; as the recordings say by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""

    def opened(self) -> tuple[Dataset, Robot]:
        """The dataset and the robot."""
        dataset = Dataset.open(self.dataset)
        return dataset, robot_of(dataset, self.robot, self.mount, self.lock)


def robot_of(
    dataset: Dataset, name: str | None, mount: str | None, lock: Sequence[str] = ()
) -> Robot:
    """The robot asked for, mounted and locked as the dataset says unless told otherwise."""
    mounts = {episode.conditions.mount for episode in dataset.episodes}
    told = mounts.pop() if len(mounts) == 1 else None
    robot = Robot.load(name or _own(dataset), mount=mount or told)
    locked = dataset.provenance.get("locked", ())
    robot = robot.lock([*lock, *(j for j in locked if j in robot.joints.names)])
    return _without_held(robot, dataset)


def _own(dataset: Dataset) -> str:
    """The robot that the dataset was imported with: a built-in one, or a file."""
    file = dataset.provenance.get("robot_file")
    if file is None or Path(file).is_file():
        return file or dataset.robot
    raise ModelError(
        f"the dataset was imported with the robot of {file}, which is no longer there; say where "
        "it is now with --robot FILE"
    )


def _without_held(robot: Robot, dataset: Dataset) -> Robot:
    """Weld the joints that no recording logged where all of them declare them held."""
    held = [set(episode.conditions.held.items()) for episode in dataset.episodes]
    always = dict(set.intersection(*held)) if held else {}
    welded = {j: at for j, at in always.items() if j in robot.joints.names}
    return robot.lock(welded, at=welded) if len(welded) < len(robot.joints) else robot
