"""What a trainer is, and what it may call while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.learning.checkpoint import Checkpoint

Scalars = dict[str, float]
Watch = Callable[[float, Scalars, Correction | None], None]
"""Told the share that is done, figures by name, and a correction where a new one is ready."""


@dataclass
class TrainingSession:
    """The surroundings of a training: who watches, and where progress is kept."""

    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))
    watch: Watch | None = None

    def tell(self, done: float, figures: Scalars, correction: Correction | None = None) -> None:
        """Tell whoever watches."""
        if self.watch is not None:
            self.watch(done, figures, correction)


class Trainer(Protocol):
    """A way to find weights; its settings are its fields."""

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """The start with weights that make the task's world repeat its recordings."""
        ...
