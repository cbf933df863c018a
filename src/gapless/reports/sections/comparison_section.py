"""Methods compared on this run's recordings, where `gapless compare` was asked for."""

from __future__ import annotations

from typing import Any

from gapless.artifact import read_json
from gapless.closing import Run
from gapless.comparison.comparison import HELD_OUT

FILE = "compare.json"


def data(run: Run) -> dict[str, Any]:
    """A table for each set of recordings; without the file, what to type for it."""
    file = run.path / FILE
    robot, path = run.facts["robot"]["source"], run.facts["data"]["path"] or "DATA"
    where = {"data": path, "robot": robot, "file": file.name, "run": str(run.path)}
    if not file.exists():
        return {**where, "tables": []}
    found = read_json(file)
    return {**where, "tables": [_table(one) for one in (found, *found.get("others", ()))]}


def _table(found: dict[str, Any]) -> dict[str, Any]:
    first = next(iter(found["rows"]), {"metrics": {}})
    columns = [(m, h) for m, by in first["metrics"].items() for h in by]
    rows = [
        {
            "method": row["method"],
            "seconds": row["seconds"]["mean"],
            "cells": [row["metrics"].get(m, {}).get(h) for m, h in columns],
        }
        for row in found["rows"]
    ]
    titles = [f"{m}, {h} s, {found['units'].get(m, '')}" for m, h in columns]
    title = found.get("title", HELD_OUT)
    return {"rows": rows, "columns": titles, "title": title, "test": found["test"]}
