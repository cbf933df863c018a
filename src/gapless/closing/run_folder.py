"""What lies in the folder of a run: one writer at a time, and nothing of others is deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gapless.artifact import MARKER, version
from gapless.closing.stage import STAGES
from gapless.errors import ArtifactError
from gapless.recordings.store.lock import Lock

FACTS, CALIBRATION, CORRECTION = "run.json", "calibration.json", "correction"
REPLAYS, ROBOT = "replays.npz", "robot"
LOCK = ".lock"
WRITTEN = (
    *(f"{name}.json" for name in ("check", *STAGES, "replays", "summary", "ranges")),
    *(CALIBRATION, CORRECTION, REPLAYS, ROBOT, "robot.xml", "use.py"),
    *("report.html", "evaluations", ".*.progress", ".*.part", ".*.staging", ".*.previous"),
)
"""Patterns of what commands put there, beside the facts, by which a folder is a run's."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Within this nobody else fills the folder of a run.

    Raises:
        ArtifactError: another process does, by its number.
    """
    new = not path.exists()
    lock = Lock(path / LOCK, f"the run {path}")
    lock.acquire()
    try:
        yield
    finally:
        lock.release(remove=True)
        if new and not any(path.iterdir()):
            path.rmdir()  # what was refused leaves nothing


def forget_run(path: Path) -> None:
    """Delete what a run wrote, and nothing else; stopped at any moment, it can be asked again."""
    if not (path / FACTS).exists() and not (path / ROBOT / MARKER).is_file():
        return  # no run was here
    for made in (p for pattern in WRITTEN if pattern != ROBOT for p in path.glob(pattern)):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    shutil.rmtree(path / ROBOT, ignore_errors=True)
    (path / FACTS).unlink(missing_ok=True)  # last: until then the folder is a run's


def refuse_foreign(path: Path) -> None:
    """Refuse a folder without the facts of a run that holds anything but what a start may leave.

    A start that was killed leaves the robot, and hidden files.
    """
    others = [p.name for p in path.iterdir() if p.name != ROBOT and not p.name.startswith(".")]
    if not others:
        return
    if (path / ROBOT / MARKER).is_file() and any(path.glob(p) for p in WRITTEN[:5]):
        raise ArtifactError(
            f"{path} is a run that lost its {FACTS}; start over with --restart (in Python, "
            "restart=True)"
        )
    raise ArtifactError(
        f"{path} is not empty and is no run: it has {', '.join(sorted(others)[:3])}; choose "
        "another --out"
    )


def refuse_other_software(path: Path, before: dict[str, str]) -> None:
    """Refuse to go on with a run of another MuJoCo: half of its figures would be of each."""
    then, now = before.get("mujoco"), version("mujoco")
    if then not in (None, now):
        raise ArtifactError(
            f"{path} was begun with MuJoCo {then}, this is {now}: its figures would not be of one "
            f"simulator. Finish it with mujoco=={then}, or start over with --restart"
        )
