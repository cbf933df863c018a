"""A training as it goes: a bar, and a table of its rounds, on standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from gapless.corrections import Correction

COLUMNS = ("done", "loss", "choosing motions (rad)", "seconds")


class TrainingView:
    """What is shown of a training; never the held-out motions, which decide nothing."""

    def __init__(self) -> None:
        self._began, self._loss = time.perf_counter(), math.nan
        self._bar = Progress(
            TextColumn("training"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
        )
        self._task = self._bar.add_task("", total=1.0)
        self._rows: list[tuple[str, ...]] = []

    def watch(self, done: float, figures: dict[str, float], correction: Correction | None) -> None:
        """See `gapless.corrections.training.trainer.Watch`."""
        self._bar.update(self._task, completed=done)
        self._loss = figures.get("loss", self._loss)
        if correction is not None:
            seconds = time.perf_counter() - self._began
            chosen = figures.get("validation", math.nan)
            self._rows.append((f"{done:.0%}", _shown(self._loss), _shown(chosen), f"{seconds:.1f}"))

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
