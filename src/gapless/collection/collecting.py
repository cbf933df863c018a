"""Collect: play a plan's sequences, pair each with its replica, store them part by part."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from gapless import artifact
from gapless.collection.card import write_card
from gapless.collection.collection import Collection, Stored, working
from gapless.collection.collection_job import CollectionJob, chosen_by, figures_of
from gapless.collection.filling import Tally, fill
from gapless.collection.plan import CollectionPlan
from gapless.collection.plan_worlds import write_truths
from gapless.collection.repertoire import Repertoire
from gapless.collection.unit_tasks import make_units, stored_batches
from gapless.collection.walks import Walks
from gapless.measurement.gap_plots import require_matplotlib
from gapless.progress import ProgressReporter, Watch
from gapless.tasks import Workers


def collect(
    plan: CollectionPlan,
    out: str | Path,
    *,
    watch: Watch | None = None,
    restart: bool = False,
    truth: str | Path | None = None,
    command: str = "",
    workers: Workers | None = None,
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
        workers: who simulates, a task for each unit, split and rate; this process by default. The
            files are the same.

    Raises:
        SimulationError: more than a twentieth of the sequences diverged or fell.
        ArtifactError: the folder belongs to something else, or the disk refused.
    """
    require_matplotlib()
    chosen, out = chosen_by(plan), Path(out)
    with working(out, plan, restart) as finished:
        if finished:
            Collection.open(out).require(figures_of(chosen))
        else:
            _collect(plan, chosen, out, watch, command, workers)
    if truth is not None:
        write_truths(plan, chosen.robot, Path(truth))
    return Collection.open(out)


def _collect(
    plan: CollectionPlan,
    chosen: Repertoire | Walks,
    out: Path,
    watch: Watch | None,
    command: str,
    workers: Workers | None,
) -> None:
    jobs = [
        CollectionJob(plan, chosen, split, rate, out / split / f"{rate}hz")
        for split in plan.splits
        for rate in plan.rates
    ]
    if workers is not None:
        make_units(jobs, out, workers, watch)
    tally = Tally(sum(len(job.sequences) for job in jobs))
    reporter = ProgressReporter(watch, "collecting", tally.total)
    for job in jobs:
        stored = partial(stored_batches, job, out)
        fill(job, tally, reporter, job.simulated if workers is None else stored)
    counts = {level: chosen.levels.count(level) for level in dict.fromkeys(chosen.levels)}
    made = tuple(_stored(job) for job in jobs)
    collection = Collection(
        out, plan.to_dict(), made, counts, tuple(tally.left_out), figures_of(chosen)
    )
    write_card(collection, chosen.robot, command)
    collection.save()


def _stored(job: CollectionJob) -> Stored:
    files = [path for path in job.path.rglob("*") if path.is_file()]
    info = artifact.read_json(job.path / "meta/info.json")
    size = sum(path.stat().st_size for path in files)
    return Stored(job.split, job.rate, info["total_episodes"], info["total_frames"], size)
