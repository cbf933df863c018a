"""The viewer answers its own pages, and nobody else's."""

from __future__ import annotations

import http.client
import socket

import pytest

from gapless.reports.foreign_requests import is_foreign

pytest.importorskip("viser")
from gapless.reports.serving import served

OWN = "127.0.0.1:8080"


@pytest.mark.parametrize(
    ("host", "origin", "foreign"),
    [
        (OWN, None, False),
        (OWN, f"http://{OWN}", False),
        ("localhost:8080", "http://localhost:8080", False),
        ("[::1]:8080", None, False),
        ("evil.example:8080", None, True),
        ("evil.example:8080", "http://evil.example:8080", True),
        (OWN, "http://evil.example", True),
        (OWN, "http://127.0.0.1:9999", True),
        (OWN, "null", True),
        ("[::1", None, True),
        ("", None, True),
        (None, None, True),
    ],
)
def test_who_is_foreign(host: str | None, origin: str | None, foreign: bool) -> None:
    """By the host that is asked for, and the page that asks."""
    assert is_foreign("127.0.0.1", host, origin) is foreign


def test_served_everywhere_the_page_must_be_of_the_host_that_is_asked() -> None:
    """Whoever serves everywhere does not say by which name."""
    assert not is_foreign("0.0.0.0", "robot.lab:8080", "http://robot.lab:8080")
    assert is_foreign("0.0.0.0", "robot.lab:8080", "http://evil.example")


def ask(port: int, headers: dict[str, str], path: str = "/") -> int:
    """Status of a request to this machine."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse().status


def test_pages_and_sockets_of_others_are_refused() -> None:
    """A real server, real requests."""
    upgrade = {
        **{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
        **{"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="},
    }
    with served() as server:
        port = server.get_port()
        own = f"127.0.0.1:{port}"
        assert ask(port, {"Host": own}) == 200
        assert ask(port, {"Host": f"evil.example:{port}"}) == 403
        assert ask(port, {"Host": own, "Origin": "http://evil.example"}) == 403
        assert ask(port, {"Host": own, "Origin": "http://evil.example", **upgrade}) == 403
        assert ask(port, {"Host": f"evil.example:{port}", **upgrade}) == 403
        assert ask(port, {"Host": own, "Origin": f"http://{own}", **upgrade}) == 101
        with socket.create_connection(("127.0.0.1", port), timeout=30):
            pass  # it listens here, and was not patched for good
    from websockets.asyncio import server as sockets

    assert sockets.serve.__module__.startswith("websockets")
