"""Parameters over a fleet: which differ between units, by more than their fits are wrong."""

from __future__ import annotations

from typing import Any

from gapless.identification.estimate import INTERVAL
from gapless.reports.figures import Figure, figure, rounded, shown
from gapless.scale import Fleet
from gapless.scale.fleet_statistics import FEWEST, UnitSpread

DRAWN = 12
"""Parameters that are drawn, the most different first; the table has all."""


def data(fleet: Fleet) -> dict[str, Any]:
    """A row for each parameter that two units have, and pictures of the most different."""
    drawn = fleet.spreads[:DRAWN]
    return {
        "figures": {f"fleet-parameter-{k}": _drawn(spread) for k, spread in enumerate(drawn)},
        "drawn": [spread.name for spread in drawn],
        "rows": [_row(spread) for spread in fleet.spreads],
        "units": len(fleet.units),
        "fewest": FEWEST,
    }


def _row(spread: UnitSpread) -> dict[str, Any]:
    return {
        "name": spread.name,
        "unit": "" if spread.unit == "1" else spread.unit,
        "nominal": spread.nominal,
        "mean": spread.mean,
        "beyond": spread.beyond,
        "units": len(spread.values),
        "chance": spread.chance,
        "differs": spread.differs,
        "outliers": ", ".join(spread.outliers),
    }


def _drawn(spread: UnitSpread) -> Figure:
    """Each unit's value with its interval."""
    values = [value for value, _ in spread.values.values()]
    reach = [INTERVAL * std for _, std in spread.values.values()]
    dots = {
        "type": "scatter",
        "mode": "markers",
        "name": shown(spread.name),
        "x": rounded(values, 6),
        "y": [shown(unit) for unit in spread.values],
        "error_x": {"type": "data", "array": rounded(reach, 6)},
        "marker": {"size": 8},
    }
    axis = {"autorange": "reversed", "type": "category"}
    unit = "" if spread.unit == "1" else spread.unit
    return figure([dots], 110 + 24 * len(values), x=unit, yaxis=axis, showlegend=False)
