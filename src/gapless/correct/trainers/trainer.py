"""What a trainer is, and what it may call while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gapless.correct.checkpoint import Checkpoint
from gapless.correct.correction import Correction
from gapless.correct.task import Task

Scalars = dict[str, float]
Watch = Callable[[float, Scalars, Correction | None], None]
"""Told the share that is done, figures by name, and a correction where a new one is ready."""


@dataclass
class Run:
    """The surroundings of a training: who watches, and where progress is kept."""

    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))
    watch: Watch | None = None

    def tell(self, done: float, figures: Scalars, correction: Correction | None = None) -> None:
        """Tell whoever watches."""
        if self.watch is not None:
            self.watch(done, figures, correction)


class Trainer(Protocol):
    """A way to find weights; its settings are its fields."""

    def train(self, task: Task, start: Correction, run: Run) -> Correction:
        """The start with weights that make the task's world repeat its recordings."""
        ...
