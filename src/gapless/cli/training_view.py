"""A training as it goes: a bar, and a table of its rounds, on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from gapless.cli.terminal import time_left
from gapless.progress import Progress

COLUMNS = ("done", "loss", "choosing motions (rad)", "seconds")


class TrainingView:
    """What is shown of a training; never the held-out motions, which decide nothing."""

    def __init__(self) -> None:
        self._began, self._loss = time.perf_counter(), math.nan
        columns = TextColumn("training"), BarColumn(), TaskProgressColumn(), MofNCompleteColumn()
        self._bar = Bar(*columns, TextColumn("{task.fields[left]}"))
        self._task = self._bar.add_task("", total=None, left="")
        self._rows: list[tuple[str, ...]] = []

    def watch(self, now: Progress) -> None:
        """Show how far it is, and a row where rounds were chosen between."""
        left = time_left(now)
        self._bar.update(self._task, completed=now.done, total=now.total, left=left)
        self._loss = now.figures.get("loss", self._loss)
        if "choose" in now.figures:
            seconds, chosen = time.perf_counter() - self._began, now.figures["choose"]
            row = f"{now.share:.0%}", _shown(self._loss), _shown(chosen), f"{seconds:.1f}"
            self._rows.append(row)

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
def shown() -> Iterator[TrainingView]:
    """Show a training while this lasts."""
    view, console = TrainingView(), Console(stderr=True)
    with Live(view, console=console, refresh_per_second=4):
        yield view
    if not console.is_terminal:  # there, Live ends without a new line
        console.line()
