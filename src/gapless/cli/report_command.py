"""`gapless report`: one HTML page of what a run or a policy loop found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.cli.terminal import check_outputs, console, parse, progress


@dataclass(frozen=True)
class Report:
    """Write the report of a run, finished or not, or of a policy loop that is finished.

    It is one HTML file that needs nothing else.
    """

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of a run or of a loop; make one with gapless close or gapless loop."""
    out: Path | None = None
    """File of the page; report.html in that folder by default."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Report, "report", arguments)
    from gapless.reports import report

    check_outputs(args.out)
    with progress("report") as show:
        path = report(args.run, args.out, watch=show)
    console().print(f"report {path}")
    return 0
