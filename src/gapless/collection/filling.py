"""Filling a dataset of a collection, batch by batch, and counting what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gapless.collection.collection_job import CollectionJob
from gapless.collection.plan import PlannedSequence
from gapless.errors import SimulationError
from gapless.progress import ProgressReporter
from gapless.recordings.recording import Recording
from gapless.recordings.store.part_files import is_finished, read_notes
from gapless.recordings.store.parts import PartsWriter

MOST_LEFT_OUT = 0.05
"""Share of the sequences that may diverge; beyond it the plan, not the odd sequence, is wrong."""


@dataclass
class Tally:
    """How far a collection is.

    Attributes:
        total: sequences of the plan.
        done: sequences that were played, in this run or before it.
        hours: their robot time.
        earlier: the part of it that earlier runs made.
        skipped: the sequences that they made.
        left_out: those that diverged or fell.
    """

    total: int
    done: int = 0
    hours: float = 0.0
    earlier: float = 0.0
    skipped: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list)

    def count(self, batch: list[PlannedSequence], frames: int) -> None:
        """Add a batch whose sequences have so many frames."""
        self.done += len(batch)
        self.hours += len(batch) * frames / batch[0].rate / 3600

    def tell(self, reporter: ProgressReporter) -> None:
        """Tell how far it is; what was there already says nothing about the pace."""
        reporter.begun = self.skipped
        reporter.tell(self.done, {"hours": self.hours, "earlier": self.earlier})

    def leave_out(self, notes: list[dict[str, Any]]) -> None:
        """Add sequences that did not end well; too many are an error."""
        self.left_out += notes
        if len(self.left_out) > MOST_LEFT_OUT * self.total:
            first = self.left_out[0]
            raise SimulationError(
                f"{len(self.left_out)} of {self.total} sequences did not end well, the first: "
                f"{first['sequence']}, {first['what']} at {first['seconds']} s; use a smaller "
                "--physics-step, gentler motions or lighter payloads, with --restart"
            )


class Batch(Protocol):
    """Sequences that were simulated, here or elsewhere."""

    @property
    def sequences(self) -> list[PlannedSequence]:
        """What was played."""
        ...

    @property
    def frames(self) -> int:
        """Samples of each."""
        ...

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Those that did not end well."""
        ...

    def recordings(self) -> Iterator[Recording]:
        """The others, one at a time."""
        ...


def fill(
    job: CollectionJob,
    tally: Tally,
    reporter: ProgressReporter,
    played: Callable[[int], Iterator[Batch]],
) -> None:
    """Make one dataset, or what is left of it.

    Args:
        job: the dataset.
        tally: of all that is made with it.
        reporter: told how far it is.
        played: batches from one on, in the order of the job.
    """
    if is_finished(job.path, job.key):
        _skip(job.groups, job.targets, read_notes(job.path), tally)
        tally.tell(reporter)
        return
    with job.writer() as writer:
        done = writer.parts_done
        _skip(job.groups[:done], job.targets, writer.notes, tally)
        tally.tell(reporter)
        for batch in _written(writer, played(done)):
            tally.count(batch.sequences, batch.frames)
            tally.leave_out(batch.left_out)
            tally.tell(reporter)
        writer.finish()


def _skip(
    groups: list[list[PlannedSequence]],
    targets: dict[str, np.ndarray],
    notes: list[dict[str, Any]],
    tally: Tally,
) -> None:
    """Count what an earlier run made."""
    before, done = tally.hours, tally.done
    for batch in groups:
        tally.count(batch, len(targets[batch[0].motion]))
    tally.earlier += tally.hours - before
    tally.skipped += tally.done - done
    tally.leave_out(notes)


def _written(writer: PartsWriter, played: Iterator[Batch]) -> Iterator[Batch]:
    """Write each batch while the next one is simulated; gives a batch when it is on the disk."""

    def write(batch: Batch) -> Batch:
        writer.write(batch.recordings(), batch.left_out)
        return batch

    pending: Future[Batch] | None = None
    with ThreadPoolExecutor(1) as thread:
        for batch in played:
            if pending is not None:
                yield pending.result()
            pending = thread.submit(write, batch)
        if pending is not None:
            yield pending.result()
