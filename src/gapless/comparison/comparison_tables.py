"""A Comparison as tables for people."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.comparison.comparison import UNITS, Comparison, Row, Spread

LABELS = {
    "replay_error": "replay error",
    "e_g_mpjpe": "E_g-mpjpe",
    "e_mpjpe": "E_mpjpe",
    "e_acc": "E_acc",
    "e_vel": "E_vel",
}


def comparison_tables(found: Comparison) -> Group:
    """Tables for each set of recordings, and what went wrong."""
    parts: list[Any] = [table for one in (found, *found.others) for table in _tables(one)]
    parts += [
        Text(f"{row.method} failed: {reason}", style="red")
        for row in found.rows
        for reason in row.failures
    ]
    return Group(*parts)


def _tables(found: Comparison) -> list[Table]:
    """A table for each metric, and one by payload."""
    tables = [_metric_table(found, metric) for metric in found.metrics]
    if len(found.payloads) > 1:
        tables.append(_payload_table(found, found.horizons[-1]))
    return tables


def _metric_table(found: Comparison, metric: str) -> Table:
    title = f"{LABELS[metric]} ({UNITS[metric]}) on {found.title}, ± std over seeds"
    table = Table(title=title, title_justify="left", min_width=len(title) + 2)
    table.add_column("method", no_wrap=True)
    for horizon in found.horizons:
        table.add_column("full clip" if horizon == "full" else f"{horizon} s", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("")
    for row in found.rows:
        cells = [_cell(found, row, metric, h) for h in found.horizons]
        table.add_row(row.method, *cells, _seconds(row.seconds), _note(found, row))
    return table


def _payload_table(found: Comparison, horizon: str) -> Table:
    length = "full clip" if horizon == "full" else f"{horizon} s"
    title = f"replay error (rad) on {found.title} by payload, {length}"
    table = Table(title=title, title_justify="left", min_width=len(title) + 2)
    table.add_column("method", no_wrap=True)
    for payload in found.payloads:
        table.add_column(payload, justify="right")
    raw = found["raw"]
    for row in found.rows:
        cells = [
            _figure(row.payload(p, horizon), raw.payload(p, horizon), row is raw)
            for p in found.payloads
        ]
        table.add_row(row.method, *cells)
    return table


def _cell(found: Comparison, row: Row, metric: str, horizon: str) -> str:
    raw = found["raw"]
    return _figure(row.metric(metric, horizon), raw.metric(metric, horizon), row is raw)


def _figure(value: Spread, before: Spread, alone: bool) -> str:
    """A mean, its deviation, and how much less than the raw simulator's it is."""
    if not value.seeds:
        return "-"
    text = f"{value.mean:.4g}" + (f" ±{value.std:.2g}" if math.isfinite(value.std) else "")
    if alone or not before.mean > 0:
        return text
    return f"{text} ({100 * (value.mean / before.mean - 1):+.0f} %)"


def _seconds(spread: Spread) -> str:
    if not spread.seeds:
        return "-"
    return f"{spread.mean:.1f}" + (f" ±{spread.std:.1f}" if math.isfinite(spread.std) else "")


def _note(found: Comparison, row: Row) -> str:
    lost = sum(s.failed is not None for s in row.scores)
    if lost == len(row.scores):
        return "failed"
    notes = [f"{lost} of {len(row.scores)} seeds failed"] if lost else []
    if row.method != "raw" and not found.improved(row.method):
        notes.append("no improvement")
    if row.diverged:
        notes.append(f"{row.diverged} windows diverged")
    return ", ".join(notes)
