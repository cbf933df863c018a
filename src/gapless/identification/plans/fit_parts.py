"""Parts of a plan that do not wait for each other, as tasks.

A worker leaves what it fitted in the checkpoint, where the plan then finds it: the numbers are
those of one process, and a stop loses no part that is whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gapless.errors import GaplessError
from gapless.identification.plans.fit_checkpoint import FitCheckpoint, named_apart
from gapless.identification.plans.fitter import Fitter
from gapless.identification.settings import IdentifySettings
from gapless.progress import Watch
from gapless.recordings import Dataset
from gapless.recordings.recording import Recordings
from gapless.robots.saved import load_robot, save_robot
from gapless.tasks import FileTask, Workers, require

INPUTS = "inputs"
"""Folder, in that of the checkpoint, of the robot and the recordings that workers read."""
TABLES = ("bounds", "priors", "boxes")


def refuse_nowhere(workers: Workers | None, checkpoint: Path | None) -> None:
    """Workers leave what they find in a checkpoint, so there must be one."""
    if workers is not None and checkpoint is None:
        raise GaplessError("workers need a place for what they find; give checkpoint=FOLDER")


def make_parts(
    fitter: Fitter, function: str, asked: Mapping[Fitter, tuple[Recordings, dict[str, Any]]]
) -> None:
    """Let workers, where there are any, make parts of a plan.

    Args:
        fitter: whose workers do it.
        function: "module:function" of a part.
        asked: fitter of each part -> its recordings, and what else the function is told.
    """
    folder = fitter.checkpoint.path
    if fitter.workers is None or folder is None:
        return
    shutil.rmtree(folder / INPUTS, ignore_errors=True)
    tasks = [
        _task(own, function, told, _saved(own, recordings, folder / INPUTS))
        for own, (recordings, told) in asked.items()
    ]
    require(fitter.workers.run(tasks, fitter.watch), "fits")


def _saved(fitter: Fitter, recordings: Recordings, folder: Path) -> dict[str, Path]:
    """What a part reads, on disk."""
    robot, clips = folder / "robot", folder / named_apart(fitter.part)
    if not robot.exists():
        save_robot(fitter.robot, robot)
    Dataset.from_recordings(recordings, fitter.robot.name).save(clips, overwrite=True)
    return {"robot": robot, "recordings": clips}


def _task(fitter: Fitter, function: str, told: dict[str, Any], files: dict[str, Path]) -> FileTask:
    own = {"settings": asdict(fitter.settings), "fold": fitter.fold, "part": fitter.part}
    out = fitter.checkpoint.within(fitter.part).path
    assert out is not None
    return FileTask(fitter.part, function, told | own, files, out)


def fitter_of(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> Fitter:
    """The fitter of a part, in a worker."""
    told = dict(asked["settings"])
    told |= {table: {k: tuple(v) for k, v in told[table].items()} for table in TABLES}
    return Fitter(
        load_robot(files["robot"]),
        IdentifySettings(**told),
        FitCheckpoint(out.parent),
        watch,
        fold=asked["fold"],
        part=asked["part"],
    )
