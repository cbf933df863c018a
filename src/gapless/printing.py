"""What shows as tables in a terminal prints as the same tables in plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapless.verdict import Verdict

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 120


class PrintsAsTables:
    """Gives a class with `__rich__` the `__str__` that goes with it."""

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=WIDTH, color_system=None)
        with console.capture() as caught:
            console.print(self)
        return caught.get()


def verdict_lines(choose: Verdict | None, test: Verdict | None) -> list[Text]:
    """What decided, and what is reported, a line each."""
    from rich.text import Text

    if choose is None:
        lines = [Text("choosing motions: none, so nothing decided whether it is kept", "yellow")]
    else:
        style = "green" if choose.improved else "bold red"
        lines = [Text(f"choosing motions: replay error {choose}", style)]
    if test is None:
        return [*lines, Text("held-out motions: none, so there is no figure to report", "yellow")]
    style = "bold green" if test.improved else "bold red"
    return [*lines, Text(f"held-out motions: replay error {test}", style)]
