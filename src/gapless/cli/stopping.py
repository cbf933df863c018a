"""Long work that may be stopped: SIGTERM ends it as Ctrl-C does, and says how it resumes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from gapless.cli.terminal import console


class Terminated(KeyboardInterrupt):
    """SIGTERM, which asks like Ctrl-C; progress files are whole at every moment."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Within this, SIGTERM raises `Terminated`; a second one ends the process at once."""
    if current_thread() is not main_thread():  # only there signals may be handled
        yield
        return

    def stop(*_: int | FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def stopped(stop: KeyboardInterrupt, kept: bool) -> int:
    """Say how it resumes; gives the exit code."""
    text = "the same command again resumes" if kept else "nothing was finished yet"
    console(stderr=True).print(f"stopped; {text}")
    return 143 if isinstance(stop, Terminated) else 130
