"""Collect: play a plan's sequences, pair each with its replica, store them part by part."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gapless import artifact
from gapless.collection.card import write_card
from gapless.collection.collection import Collection, Stored, working
from gapless.collection.pairing import PairedBatch, batches, play, starting
from gapless.collection.plan import CollectionPlan, PlannedSequence
from gapless.collection.plan_worlds import replica_world, target_world, write_truths
from gapless.collection.repertoire import Repertoire, repertoire
from gapless.collection.walking import WalkedBatch, record_walks
from gapless.collection.walks import Walks, choose_walks
from gapless.errors import SimulationError
from gapless.measurement.gap_plots import require_matplotlib
from gapless.progress import ProgressReporter, Watch
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


@dataclass(frozen=True)
class CollectionJob:
    """One dataset that is to be made."""

    split: str
    rate: int
    path: Path
    sequences: list[PlannedSequence]


def collect(
    plan: CollectionPlan,
    out: str | Path,
    *,
    watch: Watch | None = None,
    restart: bool = False,
    truth: str | Path | None = None,
    command: str = "",
) -> Collection:
    """Record every sequence of a plan with its simulated replica.

    Stopped or killed, the same call goes on after the last whole batch; nothing is lost or
    repeated, and the files are the same as those of a run that was not stopped.

    Args:
        plan: what is recorded.
        out: folder of the collection.
        watch: told the sequences that are made and their hours, after every batch.
        restart: delete an earlier collection there, finished or not.
        truth: file for the hidden robots' figures; one is written for each unit.
        command: what the user typed, for the card.

    Raises:
        SimulationError: more than a twentieth of the sequences diverged or fell.
        ArtifactError: the folder belongs to something else, or the disk refused.
    """
    require_matplotlib()
    chosen, out = repertoire(plan) if plan.policy is None else choose_walks(plan), Path(out)
    with working(out, plan, restart) as finished:
        if finished:
            Collection.open(out).require(_figures(chosen))
        else:
            _collect(plan, chosen, out, ProgressReporter(watch, "collecting"), command)
    if truth is not None:
        write_truths(plan, chosen.robot, Path(truth))
    return Collection.open(out)


def _collect(
    plan: CollectionPlan,
    chosen: Repertoire | Walks,
    out: Path,
    reporter: ProgressReporter,
    command: str,
) -> None:
    jobs = [
        CollectionJob(
            split, rate, out / split / f"{rate}hz", plan.sequences(split, rate, chosen.names)
        )
        for split in plan.splits
        for rate in plan.rates
    ]
    tally = Tally(sum(len(job.sequences) for job in jobs))
    reporter.total = tally.total
    for job in jobs:
        _make(plan, chosen, job, tally, reporter)
    counts = {level: chosen.levels.count(level) for level in dict.fromkeys(chosen.levels)}
    stored = tuple(_stored(job) for job in jobs)
    collection = Collection(
        out, plan.to_dict(), stored, counts, tuple(tally.left_out), _figures(chosen)
    )
    write_card(collection, chosen.robot, command)
    collection.save()


def _figures(chosen: Repertoire | Walks) -> dict[str, str]:
    """What files decide: hashes of the robot and of the motions."""
    return {"robot_figures": chosen.robot.fingerprint(), "motion_samples": chosen.fingerprint()}


def _make(
    plan: CollectionPlan,
    chosen: Repertoire | Walks,
    job: CollectionJob,
    tally: Tally,
    reporter: ProgressReporter,
) -> None:
    """Make one dataset, or what is left of it."""
    robot, targets = chosen.robot, chosen.targets(job.rate)
    groups = batches(job.sequences, targets, plan.batch)
    key = plan.to_dict() | {
        "dataset": f"{job.split}/{job.rate}hz",
        "software": artifact.provenance(),
        **_figures(chosen),
    }
    if is_finished(job.path, key):
        _skip(groups, targets, read_notes(job.path), tally)
        tally.tell(reporter)
        return
    locked = list(robot.locked)
    facts = {"source": "simulation", "split": job.split, "plan": plan.key, "locked": locked}
    if robot.source:
        facts["robot_file"] = robot.source
    with PartsWriter(job.path, robot.name, robot.joints.names, job.rate, key, facts) as writer:
        _skip(groups[: writer.parts_done], targets, writer.notes, tally)
        tally.tell(reporter)
        played = _simulated(plan, chosen, groups[writer.parts_done :], targets, job.rate)
        for batch in _written(writer, played):
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


def _simulated(
    plan: CollectionPlan,
    chosen: Repertoire | Walks,
    groups: list[list[PlannedSequence]],
    targets: dict[str, np.ndarray],
    rate: int,
) -> Iterator[PairedBatch | WalkedBatch]:
    """Play batch after batch; a unit's world is built when its first batch comes."""
    replica, target, unit = replica_world(plan, chosen.robot, rate), None, None
    starts = None if isinstance(chosen, Walks) else starting(plan, targets, replica)
    for batch in groups:
        if target is None or batch[0].unit != unit:
            unit = batch[0].unit
            target = target_world(plan, chosen.robot, unit, rate)
        if isinstance(chosen, Walks):
            yield record_walks(plan, chosen, batch, target, replica)
        elif starts is not None:
            yield play(plan, batch, targets, target, replica, starts)


def _written(
    writer: PartsWriter, played: Iterator[PairedBatch | WalkedBatch]
) -> Iterator[PairedBatch | WalkedBatch]:
    """Write each batch while the next one is simulated; gives a batch when it is on the disk."""

    def write(batch: PairedBatch | WalkedBatch) -> PairedBatch | WalkedBatch:
        writer.write(batch.recordings(), batch.left_out)
        return batch

    pending: Future[PairedBatch | WalkedBatch] | None = None
    with ThreadPoolExecutor(1) as thread:
        for batch in played:
            if pending is not None:
                yield pending.result()
            pending = thread.submit(write, batch)
        if pending is not None:
            yield pending.result()


def _stored(job: CollectionJob) -> Stored:
    files = [path for path in job.path.rglob("*") if path.is_file()]
    info = artifact.read_json(job.path / "meta/info.json")
    size = sum(path.stat().st_size for path in files)
    return Stored(job.split, job.rate, info["total_episodes"], info["total_frames"], size)
