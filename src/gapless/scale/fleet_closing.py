"""Closing the gaps of a fleet: one run for each dataset, and what they say side by side."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from gapless.artifact import file_name, write_json
from gapless.closing import CloseSettings, Run
from gapless.closing.close_task import closing_task
from gapless.closing.run_folder import FACTS, forget_run
from gapless.errors import ArtifactError, DataError, TaskError
from gapless.progress import Watch
from gapless.recordings import Dataset, robot_of
from gapless.robots import Robot
from gapless.robots.saved import save_robot
from gapless.scale.fleet_summary import FILE, Fleet
from gapless.tasks import FileTask, InProcess, Workers

ROBOTS = ".robots"
"""Folder of the nominal robots, which workers read."""


def close_fleet(
    datasets: Sequence[str | Path],
    out: str | Path,
    *,
    robot: str | None = None,
    mount: str | None = None,
    lock: Sequence[str] = (),
    settings: CloseSettings | None = None,
    restart: bool = False,
    workers: Workers | None = None,
    watch: Watch | None = None,
) -> Fleet:
    """Close the gap of every dataset; stopped or killed, the same call resumes.

    Args:
        datasets: folders, one for each unit.
        out: folder of the fleet: a run for each dataset, and `fleet.json`.
        robot: built-in robot or path of a file; each dataset's own by default.
        mount: free, fixed, or the link that is clamped; as the recordings say by default.
        lock: more joints or joint groups to weld at their default angle.
        settings: how gaps are closed.
        restart: forget earlier runs in that folder.
        workers: who closes them; this process by default.
        watch: told how far it is.

    Returns:
        What was found; a dataset that cannot be closed says why, and the others go on.
    """
    out = Path(out)
    if (out / FACTS).exists():
        raise ArtifactError(f"{out} is a run of one dataset; a fleet needs another --out")
    names = unit_names([Path(d) for d in datasets])
    opened = {name: Dataset.open(path) for name, path in names.items()}
    tasks: list[FileTask] = []
    for name, dataset in opened.items():
        if restart:
            forget_run(out / name)
        place = out / ROBOTS / name
        save_robot(robot_of(dataset, robot, mount, lock), place, overwrite=True)
        how = settings or CloseSettings()
        tasks.append(closing_task(name, names[name], place, out / name, how))
    failed = (workers or InProcess()).run(tasks, watch)
    fleet = Fleet.of(out, list(names), failed)
    write_json(out / FILE, fleet.to_dict())
    return fleet


def close_elsewhere(
    dataset: Path,
    robot: Robot,
    out: Path,
    workers: Workers,
    *,
    settings: CloseSettings | None = None,
    restart: bool = False,
    watch: Watch | None = None,
) -> Run:
    """`close`, done by workers; the run is the same.

    Args:
        dataset: folder of the recordings.
        robot: the nominal robot.
        out: folder of the run.
        workers: who closes it.
        settings: how.
        restart: forget an earlier run in that folder.
        watch: told how far it is.
    """
    place = out.absolute().with_name(f".{out.name}.{ROBOTS.strip('.')}")
    if restart:
        forget_run(out)
    save_robot(robot, place, overwrite=True)
    try:
        task = closing_task(out.name, dataset, place, out, settings or CloseSettings())
        if failed := workers.run([task], watch):
            raise TaskError(next(iter(failed.values())))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return Run.open(out)


def unit_names(datasets: Sequence[Path]) -> dict[str, Path]:
    """A short name for each dataset: its folder's, or as much of its path as tells it apart."""
    if len({d.resolve() for d in datasets}) < len(datasets):
        raise DataError("the same dataset is given twice; expected one folder for each unit")
    parts = [d.resolve().parts for d in datasets]
    for depth in range(1, max(map(len, parts)) + 1):
        names = [file_name("_".join(p[-depth:])) for p in parts]
        if len(set(names)) == len(names):
            return dict(zip(names, datasets, strict=True))
    numbered = [f"{k}_{d.name}" for k, d in enumerate(datasets, 1)]
    return dict(zip(numbered, datasets, strict=True))
