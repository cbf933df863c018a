"""A run as it happens: stage, rates, limits as bars, the last event; lines without a terminal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from gapless.deployment.flight_board import FlightBoard
from gapless.deployment.operators import KEYS_SAID

PERIOD, LINES = 0.25, 5.0
"""s between two pictures in a terminal, and between two lines in a log of the same stage."""
WIDTH = 30


@contextmanager
def shown_flight(board: FlightBoard) -> Iterator[None]:
    """Show a run from a thread of its own: the loop never waits for a terminal."""
    over, out = threading.Event(), Console(stderr=True)
    work = _live if out.is_terminal else _in_lines
    thread = threading.Thread(target=work, args=(board, over, out), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(2.0)


def _live(board: FlightBoard, over: threading.Event, out: Console) -> None:
    with Live(console=out, auto_refresh=False, transient=True) as live:
        while not over.wait(PERIOD):
            live.update(flight_picture(board), refresh=True)


def _in_lines(board: FlightBoard, over: threading.Event, out: Console) -> None:
    told, since = "", 0.0
    while not over.wait(PERIOD):
        since += PERIOD
        text = f"{board.pilot.staged.stage}: {board.last_event}"
        if text != told or since >= LINES:
            told, since = text, 0.0
            out.print(escape(flight_line(board)), soft_wrap=True)


def flight_line(board: FlightBoard) -> str:
    """A run in a line."""
    shares = board.shares()
    worst = max(shares, key=lambda name: shares[name], default="")
    near = f", {worst} at {100 * shares[worst]:.0f} % of its limit" if worst else ""
    event = f"; {board.last_event}" if board.last_event else ""
    return f"{board.seconds:.1f} s {board.pilot.staged.stage}{near}{_pace(board)}{event}"


def flight_picture(board: FlightBoard) -> Group:
    """A run as a picture."""
    velocity = " ".join(f"{v:+.1f}" for v in board.pilot.velocity.value)
    head = f"{board.seconds:7.1f} s  stage {board.pilot.staged.stage}  velocity {velocity or '-'}"
    bars = Table.grid(padding=(0, 1))
    for name, share in board.shares().items():
        bars.add_row(name, _bar(share), f"{100 * share:4.0f} %")
    return Group(
        Text(head + _pace(board)), bars, Text(f"last: {board.last_event}"), Text(KEYS_SAID)
    )


def _bar(share: float) -> Text:
    filled = round(WIDTH * min(max(share, 0.0), 1.0)) if share == share else WIDTH
    colour = "green" if share < 0.7 else "yellow" if share < 1 else "red"
    return Text("█" * filled + "·" * (WIDTH - filled), style=colour)


def _pace(board: FlightBoard) -> str:
    if board.loop is None:
        return ""
    report = board.loop.report()
    return f", work p99 {1000 * report.timings['step']['p99']:.2f} ms, {report.missed} missed"
