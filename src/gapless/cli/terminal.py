"""What the verbs share: parsing, tables, progress bars."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import tyro
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from gapless.artifact import passes_through, write_json
from gapless.errors import ArtifactError
from gapless.progress import Progress, Watch

T = TypeVar("T")
MIN_WIDTH = 120
"""Tables keep this width in a pipe or a narrow terminal, rather than losing digits."""


LINE_EVERY = 15.0
"""Seconds between two lines about the same stage, where there is no terminal."""


def parse(command: Callable[..., T] | type[T], verb: str, arguments: list[str]) -> T:
    """Parse arguments into a dataclass or call a function with them."""
    return tyro.cli(command, prog=f"gapless {verb}", args=arguments)


class Terminal(Console):
    """A console whose reader may go away: `main` says what that means, not rich (exit code 1)."""

    def on_broken_pipe(self) -> None:
        """Tell whoever runs the command."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console wide enough for the tables."""
    found = Terminal(stderr=stderr)
    return found if found.width >= MIN_WIDTH else Terminal(stderr=stderr, width=MIN_WIDTH)


@contextmanager
def progress(what: str) -> Iterator[Watch]:
    """A bar on standard error: the stage, k of n, figures and the time that is left.

    Without a terminal it is a line now and then.
    """
    if not Console(stderr=True).is_terminal:
        yield _told_in_lines(what)
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    left = TextColumn("{task.fields[left]}")
    bar = Bar(*columns, left, console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task(what, total=None, left="")

        def show(now: Progress) -> None:
            said = escape(described(now))
            text = f"{what}: {said}" if said else what
            bar.tasks[0].total = now.total or None  # update() takes None for "as it was"
            bar.update(task, completed=now.done, description=text, left=time_left(now))

        yield show


def _told_in_lines(what: str) -> Watch:
    """A line of a log where a stage begins, and every so often within it."""
    out, told = Console(stderr=True, soft_wrap=True), ("", float("-inf"))

    def show(now: Progress) -> None:
        nonlocal told
        moment = time.monotonic()
        if now.stage == told[0] and moment - told[1] < LINE_EVERY:
            return
        told = now.stage, moment
        of = f" {now.done} of {now.total}" if now.total else ""
        said = [f"{what}: {described(now)}{of}", time_left(now)]
        out.print(escape(", ".join(part for part in said if part)))

    return show


def described(now: Progress) -> str:
    """The stage and the figures, in a line."""
    figures = (f"{name} {value:.4g}" for name, value in now.figures.items())
    return ", ".join(part for part in (now.stage, *figures) if part)


def time_left(now: Progress) -> str:
    """Minutes and seconds that are left, where they are known."""
    if now.seconds_left is None:
        return ""
    minutes, seconds = divmod(round(now.seconds_left), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A moving sign on standard error for work that tells nothing."""
    with Console(stderr=True).status(what):
        yield


def check_outputs(*paths: Path | None) -> None:
    """Refuse paths that cannot be written before the work starts, not after it."""
    for path in (p for p in paths if p is not None):
        if not path.is_dir():  # a folder is looked at by what writes into it
            passes_through(path)
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
