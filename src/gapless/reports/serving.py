"""A viser server that is silent, and that refuses a port in use instead of taking another."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gapless.errors import GaplessError, MissingExtraError
from gapless.reports.foreign_requests import guarded

if TYPE_CHECKING:
    import viser

STOPPING = 5.0
"""Seconds that a server may take to say goodbye to its browsers."""


def require_viser() -> None:
    """Refuse before the work starts where nothing can be shown."""
    if find_spec("viser") is None:
        raise MissingExtraError("viser", "report", "showing robots in 3D")


@contextmanager
def served(host: str = "127.0.0.1", port: int = 0) -> Iterator[viser.ViserServer]:
    """A running server, stopped at the end; port 0 is any free one."""
    require_viser()
    import viser

    _refuse_taken(host, port)
    before = set(threading.enumerate())
    with _silence(), guarded(host):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    workers = set(threading.enumerate()) - before
    try:
        yield server
    finally:
        with _silence():
            server.stop()
            for worker in workers:  # it speaks up once more when it ends
                worker.join(timeout=STOPPING)


@contextmanager
def _silence() -> Iterator[None]:
    """Viser says on stdout, verbose or not, that it starts and stops."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def _refuse_taken(host: str, port: int) -> None:
    """The server itself would quietly take another port."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise GaplessError(
            f"cannot serve on {host} port {port}: {why}; choose another with --port, such as "
            f"--port {port % 60000 + 1}"
        ) from error
