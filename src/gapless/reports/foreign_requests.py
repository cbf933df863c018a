"""Pages of other people do not reach the viewer through a browser that has it open.

A page elsewhere may make a name point to this machine (DNS rebinding), or open a WebSocket to it:
then the request names another host, or comes from another origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any
from urllib.parse import urlsplit

LOCAL = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
FORBIDDEN = 403


def is_foreign(served: str, host: str | None, origin: str | None) -> bool:
    """Whether a request is not of a page that this server showed.

    Args:
        served: the address that the server listens on.
        host: header of the request.
        origin: the same; a browser sends it where another page asks.
    """
    if host is None:
        return True
    named = _name(f"//{host}")
    known = (*LOCAL, served) if served not in EVERYWHERE else (named,)
    if named not in known:
        return True
    return origin is not None and urlsplit(origin).netloc != host


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # brackets that are not closed
        return ""


@contextmanager
def guarded(served: str) -> Iterator[None]:
    """Servers of viser that start within this refuse foreign requests, pages and sockets alike."""
    from websockets.asyncio import server

    original = server.serve

    def serve(*args: Any, process_request: Callable | None = None, **options: Any) -> Any:
        return original(*args, process_request=_checked(served, process_request), **options)

    server.serve = serve  # type: ignore[assignment]
    try:
        yield
    finally:
        server.serve = original  # type: ignore[assignment]


def _checked(served: str, then: Callable | None) -> Callable:
    async def process(connection: Any, request: Any) -> Any:
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        host, origin = (found[0] if found else None for found in (hosts, origins))
        if len(hosts) > 1 or len(origins) > 1 or is_foreign(served, host, origin):
            return connection.respond(FORBIDDEN, "not a page of this viewer\n")
        found = then(connection, request) if then is not None else None
        return await found if isawaitable(found) else found

    return process
