"""Rounds of a policy loop: what each recorded, and how near its simulator came to the robot."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run
from gapless.closing.stage import STAGES
from gapless.tracking.loop_folder import LoopFolder

PAGE = "report.html"


def data(loop: LoopFolder) -> dict[str, Any]:
    """Replay errors of the simulators of every round, and where their pages are."""
    runs = loop.runs
    horizons = {run.summary["horizon"] for run in runs if run.summary}
    return {
        "stages": STAGES,
        "rounds": [_round(run) for run in runs],
        "horizon": ", ".join(f"{h:g} s" for h in sorted(horizons)),
    }


def _round(run: Run) -> dict[str, Any]:
    told, rows = run.facts["data"], run.summary.get("rows", {})
    return {
        "name": run.path.name,
        "path": str(run.path),
        "takes": told["recordings"],
        "seconds": told["seconds"],
        "cells": [_cell(rows.get(stage)) for stage in STAGES],
        "page": f"{run.path.name}/{PAGE}" if (run.path / PAGE).is_file() else "",
    }


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or row["error"] is None:
        return "-"
    return f"{row['error']:.4f} rad{'' if row['kept'] else ', not kept'}"
