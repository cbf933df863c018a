"""`gapless check`: say what is wrong with a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from gapless.cli.findings_table import findings_table
from gapless.cli.terminal import check_outputs, console, parse, save_json, spinner
from gapless.recordings import Dataset
from gapless.recordings.checks import NEEDED_FOR, CheckReport, check_dataset
from gapless.robots import Robot


@dataclass(frozen=True)
class Check:
    """Check a dataset: time, units, limits, stuck encoders, commands that were not followed.

    Exit code 1 means that a recording is unfit for measuring.
    """

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the dataset's own by default."""
    json: Path | None = None
    """File for the report."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Check, "check", arguments)
    check_outputs(args.json)
    dataset = Dataset.open(args.dataset)
    with spinner("checking"):
        report = check_dataset(dataset, Robot.load(args.robot or dataset.robot))
    out = console()
    out.print(_summary(report))
    if report.findings:
        out.print(findings_table(report.findings))
    verdict = Text("clean", style="green") if report.ok else Text("not clean", style="red")
    out.print(verdict)
    save_json(args.json, report.to_dict())
    return 0 if report.ok else 1


def _summary(report: CheckReport) -> Table:
    table = Table(title="Checked", title_justify="left", show_header=False)
    masked = ", ".join(f"{n} {why}" for why, n in report.masked.items() if n) or "none"
    table.add_row("recordings", f"{report.recordings}, {report.seconds:.1f} s")
    table.add_row("masked samples", f"{masked} (of {report.samples})")
    for name, count in report.missing.items():
        table.add_row(f"without {name}", f"{count} recordings; needed for {NEEDED_FOR[name]}")
    return table
