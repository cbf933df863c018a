"""The table that a run ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gapless.closing.run import Run


def summary_table(run: Run) -> Table | Text:
    """Raw, identified and corrected: error and reduction, over all and by payload."""
    found = run.summary
    if not found:
        return Text(f"{run.path} is not finished; the same gapless close resumes it")
    rows = found["rows"]
    loads = [p for p in rows["raw"]["payloads"] if len(rows["raw"]["payloads"]) > 1]
    count = len(run.fact("split", "test", kind=list))
    table = Table(
        title=f"replay error over {found['horizon']:g} s on {count} held-out "
        f"{'motion' if count == 1 else 'motions'}",
        caption=_caption(run.fact("split", kind=dict)),
    )
    table.add_column("simulator")
    for column in ("all", *loads):
        table.add_column(f"{column}, rad", justify="right")
    if any(_remark(row) for row in rows.values()):
        table.add_column("")
    for name, row in rows.items():
        remark = [Text(_remark(row), style="dim")] if _remark(row) else []
        table.add_row(name, *_cells(row, rows["raw"], loads), *remark)
    return table


def _caption(split: dict[str, Any]) -> str:
    choosers = f"{len(split['choose'])} others" if split["choose"] else "each in turn"
    return f"{len(split['learn'])} motions taught, {choosers} decided what is kept"


def _cells(row: dict[str, Any], raw: dict[str, Any], loads: list[str]) -> list[str]:
    if row["error"] is None:
        return ["-"] * (1 + len(loads))
    pairs = [(row["error"], raw["error"])]
    pairs += [(row["payloads"].get(load), raw["payloads"][load]) for load in loads]
    return [_cell(value, before, row is raw) for value, before in pairs]


def _cell(value: float | None, before: float | None, is_raw: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if is_raw or not before else f"{value:.4f} ({value / before - 1:+.0%})"


def _remark(row: dict[str, Any]) -> str:
    """Why a step is not part of the simulator."""
    verdict = row["choose"]
    if row["kept"]:
        return ""
    if verdict is None or not row["why"].startswith("choosing motions"):
        return f"not kept: {row['why'].splitlines()[0][:60]}"
    return f"not kept: choosing motions {verdict['before']:.5f} -> {verdict['after']:.5f} rad"
