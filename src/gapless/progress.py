"""Progress: the one event that everything long tells whoever watches it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

P = TypeVar("P", bound="Progress")


@dataclass(frozen=True)
class Progress:
    """How far some work is.

    Attributes:
        stage: what is being done.
        done: steps that are done: recordings, iterations, sections.
        total: steps in all; 0 where nobody knows.
        figures: what was found so far, by name.
        seconds_left: at the pace so far; None where nobody knows.
    """

    stage: str
    done: int = 0
    total: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds_left: float | None = None

    @property
    def share(self) -> float:
        """Share that is done, 0 to 1; 0 where the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    def within(self: P, stage: str) -> P:
        """The same as a part of a larger stage."""
        return replace(self, stage=f"{stage}, {self.stage}" if self.stage else stage)


Watch = Callable[[Progress], None]
"""Told how far some work is; an exception that it raises stops the work."""


class ProgressReporter:
    """Tells a watch how far one stage is, and how long it will take at the pace so far.

    Args:
        watch: told; None tells nobody.
        stage: what is being done.
        total: steps in all; 0 where nobody knows.
        begun: steps that an earlier run did, which say nothing about the pace of this one.
    """

    def __init__(self, watch: Watch | None, stage: str, total: int = 0, begun: int = 0) -> None:
        self.watch, self.stage, self.total = watch, stage, total
        self.begun, self._since = begun, time.monotonic()

    def tell(self, done: int, figures: Mapping[str, float] | None = None) -> None:
        """Tell whoever watches."""
        if self.watch is not None:
            self.watch(self.at(done, figures))

    def at(self, done: int, figures: Mapping[str, float] | None = None) -> Progress:
        """The event that `tell` gives."""
        return Progress(self.stage, done, self.total, dict(figures or {}), self._left(done))

    def _left(self, done: int) -> float | None:
        made = done - self.begun
        if made <= 0 or not self.total:
            return None
        return (time.monotonic() - self._since) / made * max(0, self.total - done)
