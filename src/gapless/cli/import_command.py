"""`gapless import`: turn a robot's logs into a dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table
from rich.text import Text

from gapless.cli.findings_table import findings_table
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.recordings.importing import ImportReport, import_dataset, refusals
from gapless.recordings.options import ImportOptions
from gapless.robots import Robot
from gapless.robots.missing_files import missing_notes


@dataclass(frozen=True)
class Import:
    """Read logs of a format, check them, place commands in time, write a dataset.

    Formats: sage, gaponet, kscale, asap, pace, walk_these_ways, mcap, lerobot, generic.
    """

    format: Annotated[str, tyro.conf.Positional]
    """Name of the format."""
    source: Annotated[Path, tyro.conf.Positional]
    """File or folder."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    out: Path
    """Folder of the dataset."""
    overwrite: bool = False
    """Replace a dataset that is already there."""
    json: Path | None = None
    """File for the report."""
    options: Annotated[ImportOptions, tyro.conf.arg(name="")] = field(default_factory=ImportOptions)


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Import, "import", arguments)
    check_outputs(args.json)
    robot = Robot.load(args.robot, mount=args.options.mount)
    with progress("importing") as show:
        report = import_dataset(
            args.format,
            args.source,
            robot,
            args.out,
            args.options,
            watch=show,
            overwrite=args.overwrite,
        )
    for note in missing_notes(robot.notes):
        console(stderr=True).print(Text(f"note: {note}", style="yellow"))
    out = console()
    out.print(_summary(report))
    if report.findings:
        out.print(findings_table(report.findings))
    for line in refusals(report.refused):
        out.print(Text(f"refused: {line}", style="red"))
    for line in report.unread:
        out.print(Text(f"not read: {line}", style="yellow"))
    out.print(Text(f"dataset written to {args.out}; next: gapless close {args.out} --out RUN"))
    save_json(args.json, report.to_dict())
    return 0


def _summary(report: ImportReport) -> Table:
    table = Table(title=f"Imported from {report.format}", title_justify="left", show_header=False)
    masked = ", ".join(f"{n} {why}" for why, n in report.masked.items() if n) or "none"
    dq = ", ".join(f"{n} {how}" for how, n in report.dq.items())
    rows = {
        "recordings": f"{report.recordings} of {report.logs} logs, {len(report.refused)} refused",
        "motions": f"{report.motions} different commands; splits go by these",
        "length": f"{report.seconds:.1f} s at {report.rate} Hz",
        "masked samples": f"{masked} (of {report.samples})",
        "bridged frames": f"{report.interpolated} (up to three missing samples)",
        "saturated torque": f"{report.torque_saturated} samples left out",
        "commands moved": f"{report.moved} recordings, one step earlier",
        "velocities": dq,
        "flagged": ", ".join(report.flagged) or "none",
        "speed": f"{report.seconds / max(report.elapsed, 1e-9):.0f} x real time",
    }
    for name, value in rows.items():
        table.add_row(name, Text(value))
    return table
