"""Closing as a task: one run, of files that may lie on another machine."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gapless.closing.close_settings import CloseSettings
from gapless.closing.loop import close
from gapless.progress import Watch
from gapless.recordings import Dataset
from gapless.robots.saved import load_robot
from gapless.tasks import FileTask


def closing_task(
    name: str, dataset: Path, robot: Path, out: Path, settings: CloseSettings
) -> FileTask:
    """The task that fills, or goes on with, a run.

    Args:
        name: of the task.
        dataset: folder of recordings.
        robot: folder that `save_robot` wrote.
        out: folder of the run.
        settings: how the gap is closed.
    """
    asked = {"dataset": str(dataset.resolve()), "settings": asdict(settings)}
    files = {"dataset": dataset, "robot": robot}
    return FileTask(name, f"{__name__}:close_files", asked, files, out)


def close_files(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """Do that task."""
    dataset = Dataset.open(files["dataset"])
    dataset.path = Path(asked["dataset"])  # as whoever asked sees it
    how: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in asked["settings"].items()
    }
    close(dataset, load_robot(files["robot"]), out, settings=CloseSettings(**how), watch=watch)
