"""Tasks of the tests of workers: small, and pure functions of files."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gapless.artifact import write_json
from gapless.errors import DataError
from gapless.progress import Progress, Watch
from gapless.tasks import FileTask


def task(name: str, folder: Path, *, inputs: dict[str, Path] | None = None, **asked: Any):
    """A task of this module that writes folder/NAME.json."""
    out = folder / f"{name}.json"
    return FileTask(name, "counting_tasks:count", asked, inputs or {}, out)


def tasks(folder: Path, names: Iterable[str], **asked: Any) -> list[FileTask]:
    """Several of them."""
    return [task(name, folder, **asked) for name in names]


def count(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """Write the length of each input; refuse, break, die or wait where that is asked."""
    watch(Progress("counting", 1, 2, {"inputs": len(files)}))
    if tally := asked.get("tally"):
        with Path(tally).open("a") as file:
            file.write(out.stem)
    if asked.get("refuse"):
        raise DataError(f"{out.stem} cannot be counted; expected another")
    if asked.get("break"):
        raise ZeroDivisionError("a defect")
    if once := asked.get("die_once"):
        _die_unless_there(Path(once) / out.stem)
    if asked.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(asked.get("wait", 0.0))
    lengths = {name: len(_bytes(path)) for name, path in sorted(files.items())}
    write_json(out, {"lengths": lengths, "asked": asked.get("about", "")})


def _bytes(path: Path) -> bytes:
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return b"".join(p.read_bytes() for p in files)


def _die_unless_there(sign: Path) -> None:
    """The first who comes leaves a sign and is killed."""
    if not sign.exists():
        sign.touch()
        os.kill(os.getpid(), signal.SIGKILL)
