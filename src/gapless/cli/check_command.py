"""`gapless check`: say what is wrong with a dataset, or with every dataset of a collection."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table
from rich.text import Text

from gapless.cli.findings_table import findings_table
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json, spinner
from gapless.errors import GaplessError
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.base_estimate import BaseEstimate, describe
from gapless.measurement.fall_signs import fall_finding
from gapless.progress import Progress
from gapless.recordings import Dataset, robot_of
from gapless.recordings.checks import NEEDED_FOR, CheckReport, check_dataset
from gapless.recordings.findings import Finding
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.collection.collection import Collection


@dataclass(frozen=True)
class Check:
    """Check a dataset: time, units, limits, stuck encoders, commands that were not followed.

    Exit code 1 means that a recording is unfit for measuring.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset, or of a collection."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the dataset's own by default."""
    json: Path | None = None
    """File for the report."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Check, "check", arguments)
    check_outputs(args.json)
    from gapless.collection.collection import Collection

    if Collection.is_at(args.dataset):
        return _check_collection(Collection.open(args.dataset), args)
    dataset = Dataset.open(args.dataset)
    robot = robot_of(dataset, args.robot)
    with spinner("checking"):
        report = check_dataset(dataset, robot)
        base, falls = _bases(dataset, robot)
        report.findings.extend(falls)
    out = console()
    out.print(_summary(report))
    if base:
        out.print(describe([estimate.quality for estimate in base]))
    if report.findings:
        out.print(findings_table(report.findings))
    out.print(_verdict(report.ok))
    save_json(args.json, report.to_dict())
    return 0 if report.ok else 1


def _check_collection(collection: Collection, args: Check) -> int:
    reports: dict[str, CheckReport] = {}
    robot = Robot.load(args.robot or collection.plan["robot"])
    with progress("checking") as show:
        for k, stored in enumerate(collection.datasets):
            show(Progress(stored.name, k, len(collection.datasets)))
            dataset = Dataset.open(collection.path / stored.name)
            reports[stored.name] = check_dataset(dataset, robot)
    out = console()
    out.print(_overview(reports))
    findings = [
        replace(finding, recording=f"{name}: {finding.recording}")
        for name, report in reports.items()
        for finding in report.findings
    ]
    if findings:
        out.print(findings_table(findings))
    ok = all(report.ok for report in reports.values())
    out.print(_verdict(ok))
    datasets = {name: report.to_dict() for name, report in reports.items()}
    save_json(args.json, {"ok": ok, "datasets": datasets})
    return 0 if ok else 1


def _bases(dataset: Dataset, robot: Robot) -> tuple[list[BaseEstimate], list[Finding]]:
    """What feet say of bases that were not logged, and which robots seem to have fallen."""
    bases, falls = [], []
    for i in range(len(dataset) if robot.mount == "free" else 0):
        with suppress(GaplessError):  # what cannot be placed is a finding of its own
            recording = dataset[i]
            estimate = in_robot_order(recording, robot).estimate
            bases += [] if estimate is None else [estimate]
            fall = fall_finding(recording, estimate)
            falls += [] if fall is None else [fall]
    return bases, falls


def _verdict(ok: bool) -> Text:
    return Text("clean", style="green") if ok else Text("not clean", style="red")


def _overview(reports: dict[str, CheckReport]) -> Table:
    table = Table(title="Checked", title_justify="left")
    for column in ("dataset", "recordings", "seconds", "masked samples", "errors", "verdict"):
        table.add_column(column)
    for name, report in reports.items():
        errors = sum(finding.severity == "error" for finding in report.findings)
        masked = f"{sum(report.masked.values())} of {report.samples}"
        counts = str(report.recordings), f"{report.seconds:.1f}", masked, str(errors)
        table.add_row(name, *counts, _verdict(report.ok))
    return table


def _summary(report: CheckReport) -> Table:
    table = Table(title="Checked", title_justify="left", show_header=False)
    masked = ", ".join(f"{n} {why}" for why, n in report.masked.items() if n) or "none"
    table.add_row("recordings", f"{report.recordings}, {report.seconds:.1f} s")
    table.add_row("masked samples", f"{masked} (of {report.samples})")
    for name, count in report.missing.items():
        table.add_row(f"without {name}", f"{count} recordings; needed for {NEEDED_FOR[name]}")
    return table
