"""Where a command does its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapless.tasks import Workers


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The option of every command whose work can be done elsewhere."""

    on: str = "local"
    """Where it runs: local, local:N (so many processes), ray (the cluster that runs here, or one
    that is started), ray://HOST:PORT. The result is the same."""

    def workers(self) -> Workers:
        """Whoever does it."""
        from gapless.scale.places import workers_on

        return workers_on(self.on)


def without_place(arguments: list[str]) -> list[str]:
    """What was typed, but where it runs, which says nothing about the result."""
    kept, words = [], iter(arguments)
    for word in words:
        if word == "--on":
            next(words, None)
        elif not word.startswith("--on="):
            kept.append(word)
    return kept
