"""The robot that a dataset is of: its model, mounted and locked as the recordings say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gapless.errors import ModelError
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot


def robot_of(
    dataset: Dataset, name: str | None = None, mount: str | None = None, lock: Sequence[str] = ()
) -> Robot:
    """The robot of a dataset, mounted and locked as its recordings say unless told otherwise.

    Joints that no recording logged, and that all of them declare held, are welded there.

    Args:
        dataset: recordings of it.
        name: built-in robot or path of an .xml, .urdf or .toml; by default the one that the
            dataset was imported with.
        mount: free, fixed, or the link that is clamped; as the recordings say by default.
        lock: more joints or joint groups to weld at their default angle.

    Raises:
        ModelError: the file that the dataset was imported with is no longer there.
    """
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
        "it is now with --robot FILE (in Python, robot_of(dataset, FILE))"
    )


def _without_held(robot: Robot, dataset: Dataset) -> Robot:
    """Weld the joints that no recording logged where all of them declare them held."""
    held = [set(episode.conditions.held.items()) for episode in dataset.episodes]
    always = dict(set.intersection(*held)) if held else {}
    welded = {j: at for j, at in always.items() if j in robot.joints.names}
    return robot.lock(welded, at=welded) if len(welded) < len(robot.joints) else robot
