"""Findings as a table: one row for each kind, however many recordings share it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from gapless.recordings.findings import Finding
from gapless.recordings.importing import alike

COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}


def findings_table(findings: Iterable[Finding]) -> Table:
    """Group findings by severity and code, notes by what they say; the first of each is quoted."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        said = alike(finding.message) if finding.code == "note" else ""
        groups[finding.severity, finding.code, said].append(finding)
    table = Table(title="Findings", title_justify="left")
    for column in ("severity", "what", "where", "for example"):
        table.add_column(column)
    rank = list(COLOURS)
    for (severity, code, _), found in sorted(groups.items(), key=lambda g: rank.index(g[0][0])):
        first = found[0]
        names = list(dict.fromkeys(f.recording for f in found))
        where = names[0] if len(names) == 1 else f"{len(names)} recordings, e.g. {names[0]}"
        table.add_row(
            Text(severity, style=COLOURS[severity]), code, Text(where), Text(first.message)
        )
    return table
