"""A collection in parts: what one unit adds to one dataset is a task, made wherever workers are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gapless.collection.collection import UNITS
from gapless.collection.collection_job import CollectionJob, chosen_by, figures_of
from gapless.collection.filling import Tally, fill
from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.errors import DataError
from gapless.progress import ProgressReporter, Watch
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording
from gapless.recordings.store.part_files import episodes_path, is_finished, read_part
from gapless.tasks import FileTask, Workers, require


@dataclass(frozen=True)
class StoredBatch:
    """A batch that a worker simulated and stored.

    Attributes:
        sequences: what was played.
        frames: samples of each.
        folder: dataset of its unit.
        part: of that dataset.
    """

    sequences: list[PlannedSequence]
    frames: int
    folder: Path
    part: int

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """Sequences that did not end well."""
        return read_part(episodes_path(self.folder, self.part)).notes

    def recordings(self) -> Iterator[Recording]:
        """The others, as they were stored: written again, they are the same bytes."""
        stored = read_part(episodes_path(self.folder, self.part)).episodes
        yield from Dataset.open(self.folder).select([e.index for e in stored])


def make_units(
    jobs: Sequence[CollectionJob], out: Path, workers: Workers, watch: Watch | None
) -> None:
    """Let workers simulate every unit of every dataset that is not there yet.

    Args:
        jobs: the datasets.
        out: folder of the collection.
        workers: who simulates.
        watch: told how far they are.
    """
    total = sum(len(job.sequences) for job in jobs)
    missing = [
        _task(part, total)
        for job in jobs
        if not is_finished(job.path, job.key)
        for part in _parts(job, out)
        if not is_finished(part.path, part.key)
    ]
    require(workers.run(missing, watch), "units")


def stored_batches(job: CollectionJob, out: Path, first: int) -> Iterator[StoredBatch]:
    """The batches of a dataset from one on, as workers left them."""
    found = (
        StoredBatch(batch, len(job.targets[batch[0].motion]), part.path, k)
        for part in _parts(job, out)
        for k, batch in enumerate(part.groups)
    )
    return (batch for number, batch in enumerate(found) if number >= first)


def _parts(job: CollectionJob, out: Path) -> list[CollectionJob]:
    """The same dataset unit by unit."""
    return [
        replace(job, path=out / UNITS / f"{job.split}_{job.rate}hz_unit{unit}", unit=unit)
        for unit in job.plan.splits[job.split]
    ]


def _task(part: CollectionJob, total: int) -> FileTask:
    asked = {
        "plan": part.plan.to_dict(),
        "figures": figures_of(part.chosen),
        "split": part.split,
        "rate": part.rate,
        "unit": part.unit,
        "total": total,
    }
    return FileTask(part.path.name, f"{__name__}:make_unit", asked, {}, part.path)


def make_unit(asked: dict[str, Any], _: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of one unit: simulate its sequences, or what is left of them."""
    told: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in asked["plan"].items()
    }
    plan = CollectionPlan(**told)
    chosen = chosen_by(plan)
    if differing := [k for k, v in figures_of(chosen).items() if v != asked["figures"][k]]:
        raise DataError(
            f"{', '.join(differing)}: files of the plan are others where this unit is simulated; "
            "expected the same robot, motions and policy at the same paths on every machine"
        )
    job = CollectionJob(plan, chosen, asked["split"], asked["rate"], out, asked["unit"])
    tally = Tally(asked["total"])
    fill(job, tally, ProgressReporter(watch, "simulating", len(job.sequences)), job.simulated)
