"""Units of a fleet: the error of each simulator, and who is unlike the others."""

from __future__ import annotations

from typing import Any

from gapless.closing.stage import STAGES
from gapless.reports.figures import bars
from gapless.scale import Fleet
from gapless.scale.fleet_summary import FleetUnit

PAGE = "report.html"


def data(fleet: Fleet) -> dict[str, Any]:
    """A row for each unit."""
    series = {stage: {u.name: u.errors.get(stage) for u in fleet.units} for stage in STAGES}
    return {
        "figures": {"fleet-errors": bars(series, "replay error, rad")},
        "stages": STAGES,
        "rows": [_row(fleet, unit) for unit in fleet.units],
        "failed": fleet.failed,
        "unlike": fleet.unlike,
        "horizon": " or ".join(f"{h:g}" for h in sorted({u.horizon for u in fleet.units})),
    }


def _row(fleet: Fleet, unit: FleetUnit) -> dict[str, Any]:
    raw, final = unit.errors.get("raw"), unit.final
    there = (fleet.path / unit.name / PAGE).is_file()
    return {
        "name": unit.name,
        "robot": unit.robot,
        "cells": [_cell(unit, stage) for stage in STAGES],
        "change": f"{final / raw - 1:+.0%}" if raw and final is not None else "-",
        "page": f"{unit.name}/{PAGE}" if there else "",
    }


def _cell(unit: FleetUnit, stage: str) -> str:
    error = unit.errors.get(stage)
    if error is None:
        return "-"
    return f"{error:.4f}{'' if stage in unit.kept else ', not kept'}"
