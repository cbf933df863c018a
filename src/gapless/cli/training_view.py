"""A training as it goes: a bar, and a table of its rounds, on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from gapless.cli.terminal import time_left

if TYPE_CHECKING:
    from gapless.corrections import Correction
    from gapless.corrections.training.trainer import TrainingProgress

Judge = Callable[["Correction | None"], float]
"""Held-out error of a correction, rad; None is without one."""

COLUMNS = ("done", "loss", "validation (rad)", "held out (rad)", "seconds")


class TrainingView:
    """What is shown of a training; the held-out error is shown and never chosen by.

    Args:
        judge: gives it.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge, self._began, self._loss = judge, time.perf_counter(), math.nan
        columns = TextColumn("training"), BarColumn(), TaskProgressColumn(), MofNCompleteColumn()
        self._bar = Bar(*columns, TextColumn("{task.fields[left]}"))
        self._task = self._bar.add_task("", total=None, left="")
        self._rows: list[tuple[str, ...]] = []
        self.held_out = math.nan
        """Of the last round, rad."""

    def begin(self) -> None:
        """Note the error without a correction."""
        self._note(0.0, math.nan, self._judge(None))

    def watch(self, now: TrainingProgress) -> None:
        """Show how far it is, and judge a correction that is ready."""
        left = time_left(now)
        self._bar.update(self._task, completed=now.done, total=now.total, left=left)
        self._loss = now.figures.get("loss", self._loss)
        if now.correction is not None:
            validation = now.figures.get("validation", math.nan)
            self._note(now.share, validation, self._judge(now.correction))

    def _note(self, done: float, validation: float, held_out: float) -> None:
        seconds = time.perf_counter() - self._began
        self.held_out = held_out
        self._rows.append(
            (f"{done:.0%}", *map(_shown, (self._loss, validation, held_out)), f"{seconds:.1f}")
        )

    def __rich__(self) -> Group:
        table = Table()
        for column in COLUMNS:
            table.add_column(column, justify="right")
        for row in self._rows:
            table.add_row(*row)
        return Group(self._bar, table)


def _shown(figure: float) -> str:
    return "-" if math.isnan(figure) else f"{figure:.5f}"


@contextmanager
def shown(judge: Judge) -> Iterator[TrainingView]:
    """Show a training while this lasts."""
    view, console = TrainingView(judge), Console(stderr=True)
    with Live(view, console=console, refresh_per_second=4):
        view.begin()
        yield view
    if not console.is_terminal:  # there, Live ends without a new line
        console.line()
