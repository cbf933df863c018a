"""Methods compared on this run's recordings, where `gapless compare` was asked for."""

from __future__ import annotations

from typing import Any

from gapless.artifact import read_json
from gapless.closing import Run

FILE = "compare.json"


def data(run: Run) -> dict[str, Any]:
    """The rows of the table; without the file, what to type for it."""
    file = run.path / FILE
    robot, path = run.facts["robot"]["source"], run.facts["data"]["path"] or "DATA"
    where = {"data": path, "robot": robot, "file": file.name, "run": str(run.path)}
    if not file.exists():
        return {**where, "rows": []}
    found = read_json(file)
    first = next(iter(found["rows"]), {"metrics": {}})
    columns = [(m, h) for m, by in first["metrics"].items() for h in by]
    rows = [
        {
            "method": row["method"],
            "seconds": row.get("seconds"),
            "cells": [row["metrics"].get(m, {}).get(h) for m, h in columns],
        }
        for row in found["rows"]
    ]
    titles = [f"{m}, {h} s, {found['units'].get(m, '')}" for m, h in columns]
    return {**where, "rows": rows, "columns": titles, "motions": len(found["split"]["test"])}
