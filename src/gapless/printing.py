"""What shows as tables in a terminal prints as the same tables in plain text."""

from __future__ import annotations

WIDTH = 120


class PrintsAsTables:
    """Gives a class with `__rich__` the `__str__` that goes with it."""

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=WIDTH, color_system=None)
        with console.capture() as caught:
            console.print(self)
        return caught.get()
