"""A Calibration as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate
from gapless.measurement.spans import FULL
from gapless.printing import verdict_lines
from gapless.verdict import CLOSED_LOOP

CORRELATED = 0.9
"""Pairs of parameters whose errors are tied at least this much are named."""

PAIRS_SHOWN = 5


def calibration_tables(calibration: Calibration) -> Group:
    """Values with intervals, what is tied together, verdicts, notes."""
    parts: list = [_values(calibration, f"{calibration.robot}: identified parameters")]
    parts += [_rungs(ladder)] if (ladder := calibration.ladder) else []
    parts += [Text(line, style="dim") for line in tied_pairs(calibration)]
    parts += verdict_lines(calibration.choose, calibration.test)
    parts += [Text(note, style="yellow") for note in calibration.notes]
    if calibration.loaded is not None:
        load = calibration.loaded
        parts += [_values(load, "with its load"), *verdict_lines(load.choose, load.test)]
        parts += [Text(note, style="yellow") for note in load.notes]
    return Group(*parts)


def _values(calibration: Calibration, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("parameter", "prior", "value", "95 % interval", "unit", ""):
        table.add_column(name, justify="left" if name in ("parameter", "unit", "") else "right")
    for e in calibration.estimates:
        low, high = e.interval
        digits = _digits(e)
        table.add_row(
            e.name,
            f"{e.parameter.prior:.4g}",
            f"{e.value:.{digits}f}" if e.identifiable else "as prior",
            f"{low:.{digits}f} to {high:.{digits}f}" if e.identifiable else "",
            e.parameter.unit,
            "at bound" if e.at_bound else "" if e.identifiable else "not identifiable",
            style=None if e.identifiable else "dim",
        )
    return table


def _rungs(ladder: Sequence[Mapping[str, Any]]) -> Table:
    """The error after each rung of the ladder, and what was kept."""
    horizons = list(ladder[0]["errors"])
    table = Table(title="ladder: replay error on the choosing motions, rad", title_justify="left")
    for name in ("rung", "parameters", *(_span(h) for h in horizons), ""):
        table.add_column(name, justify="left" if name in ("rung", "") else "right")
    for step in ladder:
        errors = (f"{step['errors'][h]:.5f}" if h in step["errors"] else "-" for h in horizons)
        verdict = "kept" if step["kept"] else step["why"]
        count = str(step["parameters"] or "-")
        table.add_row(step["rung"], count, *errors, verdict, style=None if step["kept"] else "dim")
    return table


def _span(horizon: str) -> str:
    known = {FULL: "whole clips", CLOSED_LOOP: "closed loop, m"}
    return known.get(horizon) or f"{float(horizon):g} s"


def _digits(estimate: Estimate) -> int:
    """Decimals worth printing: two digits of the standard deviation."""
    size = max(estimate.std, 1e-9)
    return int(np.clip(1 - np.floor(np.log10(size)), 0, 8))


def tied_pairs(calibration: Calibration) -> list[str]:
    """Pairs whose errors go together: only a combination of the two is well known."""
    names, matrix = list(calibration.values), np.array(calibration.correlation)
    rows, columns = np.triu_indices(len(names), 1)
    size = np.abs(matrix[rows, columns])
    order = [k for k in np.argsort(-size) if size[k] >= CORRELATED]
    lines = [
        f"{names[rows[k]]} and {names[columns[k]]} are strongly correlated ( "
        f"{matrix[rows[k], columns[k]]:+.2f})"
        for k in order[:PAIRS_SHOWN]
    ]
    more = len(order) - PAIRS_SHOWN
    return [*lines, f"and {more} more pairs, in the file"] if more > 0 else lines
