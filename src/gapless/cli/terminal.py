"""What the verbs share: parsing, tables, progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import tyro
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gapless.artifact import write_json
from gapless.errors import ArtifactError

T = TypeVar("T")
MIN_WIDTH = 120
"""Tables keep this width in a pipe or a narrow terminal, rather than losing digits."""


def parse(command: Callable[..., T] | type[T], verb: str, arguments: list[str]) -> T:
    """Parse arguments into a dataclass or call a function with them."""
    return tyro.cli(command, prog=f"gapless {verb}", args=arguments)


def console(stderr: bool = False) -> Console:
    """A console wide enough for the tables."""
    found = Console(stderr=stderr)
    return found if found.width >= MIN_WIDTH else Console(stderr=stderr, width=MIN_WIDTH)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; gives a function of (done, total)."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def spinner(what: str) -> Iterator[Callable[[str], None]]:
    """A moving sign on standard error for work of unknown length; gives a function of a text."""
    with Console(stderr=True).status(what) as status:
        yield lambda detail: status.update(f"{what}: {escape(detail)}")


def check_outputs(*paths: Path | None) -> None:
    """Refuse paths that cannot be written before the work starts, not after it."""
    for path in (p for p in paths if p is not None):
        for folder in path.absolute().parents:
            if folder.exists():
                if not folder.is_dir():
                    raise ArtifactError(f"cannot write {path}: {folder} is a file, not a folder")
                break


def save_json(path: Path | None, values: dict[str, Any]) -> None:
    """Write the figures beside a table, where the user asked for them."""
    if path is not None:
        write_json(path, values)
        console(stderr=True).print(f"figures written to {path}")
