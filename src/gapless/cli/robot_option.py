"""The robot that a command is about: as asked for, mounted and locked as the dataset says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gapless.errors import ModelError
from gapless.recordings import Dataset
from gapless.robots import Robot


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
