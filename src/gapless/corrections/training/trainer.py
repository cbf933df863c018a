"""What a trainer is, and what it may call while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.task import Task
from gapless.learning.checkpoint import Checkpoint
from gapless.progress import Progress, ProgressReporter, Watch

STAGE = "training"


@dataclass(frozen=True)
class TrainingProgress(Progress):
    """How far a training is.

    Attributes:
        correction: a new one that was judged by the choosing recordings, where there is one.
    """

    correction: Correction | None = None


@dataclass
class TrainingSession:
    """The surroundings of a training: who watches, and where progress is kept."""

    checkpoint: Checkpoint = field(default_factory=lambda: Checkpoint(None))
    watch: Watch | None = None
    _reporter: ProgressReporter | None = None

    def begin(self, total: int, begun: int = 0) -> None:
        """A training of so many steps begins, of which an earlier run did some."""
        self._reporter = ProgressReporter(self.watch, STAGE, total, begun)

    def tell(
        self, done: int, figures: Mapping[str, float], correction: Correction | None = None
    ) -> None:
        """Tell whoever watches how many steps are done."""
        assert self._reporter is not None, "begin comes first"
        self.pass_on(self._reporter.at(done, figures), correction)

    def pass_on(self, now: Progress, correction: Correction | None = None) -> None:
        """Tell whoever watches, with a correction where a new one is ready."""
        if self.watch is not None:
            self.watch(TrainingProgress(**vars(now), correction=correction))


class Trainer(Protocol):
    """A way to find weights; its settings are its fields."""

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """The start with weights that make the task's world repeat its recordings."""
        ...
