"""One bar for everything long: the stage, k of n, figures, and the time that is left."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gapless.cli import terminal
from gapless.progress import Progress


def shown(monkeypatch: pytest.MonkeyPatch, *events: Progress, terminals: bool = True) -> str:
    """What a terminal, or a pipe, shows in the end."""
    written = io.StringIO()
    monkeypatch.setattr(
        terminal,
        "Console",
        lambda **_: Console(file=written, force_terminal=terminals, color_system=None, width=120),
    )
    with terminal.progress("closing") as show:
        for event in events:
            show(event)
    return written.getvalue()


def test_everything_that_an_event_says_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of logs are no markup."""
    text = shown(monkeypatch, Progress("a[b]c", 3, 12, {"error": 0.0125}, 75.2))
    for part in ("closing: a[b]c, error 0.0125", "3/12", "0:01:15 left"):
        assert part in text


def test_a_total_that_is_not_known_any_more_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage of unknown length comes after one of known length."""
    text = shown(monkeypatch, Progress("replaying", 3, 12, {}, 9.0), Progress("fit", 4))
    assert "4/?" in text and "left" not in text.rsplit("4/?", 1)[1]


def test_nothing_known_is_just_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """No empty stage after a colon."""
    assert terminal.described(Progress("")) == ""
    assert terminal.time_left(Progress("fit", 3)) == ""
    assert "closing:" not in shown(monkeypatch, Progress(""))


def test_a_log_has_a_line_for_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one for each step: nobody reads a thousand lines."""
    steps = [Progress("fit", k, 100, {"error": 0.5}) for k in range(50)]
    text = shown(monkeypatch, *steps, Progress("judge"), terminals=False)
    assert text.splitlines() == ["closing: fit, error 0.5 0 of 100", "closing: judge"]
