"""The tables of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.closing.stage import STAGES

if TYPE_CHECKING:
    from gapless.scale.fleet_summary import Fleet

MOST = 20
"""Parameters in the table; `fleet.json` has all."""


def fleet_tables(fleet: Fleet) -> Group:
    """Units side by side, parameters that differ, and what is unlike the others."""
    lines = [Text(f"{unit}: {why}", "bold red") for unit, why in fleet.failed.items()]
    for unit, what in fleet.unlike.items():
        lines.append(Text(f"{unit} is unlike the others in {', '.join(what)}", "yellow"))
    return Group(_units(fleet), _parameters(fleet), *lines)


def _units(fleet: Fleet) -> Table:
    horizons = " or ".join(f"{h:g}" for h in sorted({u.horizon for u in fleet.units}))
    table = Table(title=f"replay error of held-out motions over {horizons} s, rad")
    table.add_column("unit")
    for column in (*STAGES, "handed out"):
        table.add_column(column, justify="right")
    for unit in fleet.units:
        cells = [_cell(unit.errors.get(stage)) for stage in STAGES]
        raw, final = unit.errors.get("raw"), unit.final
        gain = f" ({final / raw - 1:+.0%})" if raw and final is not None else ""
        table.add_row(unit.name, *cells, _cell(final) + gain)
    return table


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _parameters(fleet: Fleet) -> Table:
    table = Table(title="identified parameters, the most different first")
    for column in ("parameter", "unit"):
        table.add_column(column)
    for column in ("nominal", "mean", "between units", "units"):
        table.add_column(column, justify="right")
    table.add_column("")
    for s in fleet.spreads[:MOST]:
        told = "differs" if s.differs else "as one would expect of equal units"
        numbers = f"{s.nominal:.4g}", f"{s.mean:.4g}", f"± {s.beyond:.2g}", str(len(s.values))
        table.add_row(s.name, "" if s.unit == "1" else s.unit, *numbers, told)
    if len(fleet.spreads) > MOST:
        table.caption = f"{len(fleet.spreads) - MOST} more are in fleet.json"
    return table
