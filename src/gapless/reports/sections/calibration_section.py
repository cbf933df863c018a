"""Identified parameters with their intervals and correlations, and what is not identifiable."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.closing import Run
from gapless.closing.run import CALIBRATION
from gapless.identification import Calibration
from gapless.identification.estimate import Estimate
from gapless.measurement.spans import FULL
from gapless.parameters import KINDS
from gapless.reports.figures import bars, heat, intervals
from gapless.verdict import CLOSED_LOOP

MOST = 80
"""Parameters in the matrix of correlations: those that correlate most."""


def data(run: Run) -> dict[str, Any] | None:
    """Parameters by kind; also of a calibration that did not help and was not kept."""
    file = run.path / CALIBRATION
    if not file.exists():
        return None
    found = Calibration.load(file)
    kinds: dict[str, list[Estimate]] = {}
    for estimate in found.estimates:
        if estimate.identifiable:
            kinds.setdefault(estimate.parameter.kind, []).append(estimate)
    figures = {f"calibration-{kind}": _intervals(kind, told) for kind, told in kinds.items()}
    told = [i for i, e in enumerate(found.estimates) if e.identifiable]
    matrix = found.correlation[np.ix_(told, told)]
    if len(told) > 1:
        names = [found.estimates[i].name for i in told]
        figures["calibration-correlation"] = _correlation(names, matrix)
    if found.ladder:
        figures["calibration-ladder"] = _ladder(found.ladder)
    return {
        "figures": figures,
        "kept": run.keeps("identified"),
        "ladder": found.ladder,
        "kinds": {kind: KINDS[kind].unit for kind in kinds},
        "rows": [_row(e) for e in found.estimates],
        "notes": list(found.notes),
        "beyond": list(found.beyond_mjcf()),
    }


def _ladder(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The error of the choosing motions after each rung, by horizon."""
    spans = [h for h in steps[0]["errors"] if h != CLOSED_LOOP]
    horizons = {h: h if h == FULL else f"{float(h):g} s" for h in spans}
    series = {
        label: {s["rung"] + ("" if s["kept"] else " (not kept)"): s["errors"].get(h) for s in steps}
        for h, label in horizons.items()
    }
    return bars(series, "replay error, rad")


def _intervals(kind: str, told: list[Estimate]) -> dict[str, Any]:
    return intervals(
        [e.name.split("/", 1)[-1].split("@", 1)[-1] for e in told],
        [e.value for e in told],
        [e.interval[0] for e in told],
        [e.interval[1] for e in told],
        [float(np.mean(e.nominal)) for e in told],
        "" if KINDS[kind].unit == "1" else KINDS[kind].unit,
    )


def _correlation(names: list[str], matrix: np.ndarray) -> dict[str, Any]:
    off = np.abs(matrix - np.eye(len(matrix))).max(axis=1)
    chosen = np.sort(np.argsort(-off)[:MOST])
    return heat([names[i] for i in chosen], matrix[np.ix_(chosen, chosen)])


def _row(estimate: Estimate) -> dict[str, Any]:
    low, high = estimate.interval
    return {
        "name": estimate.name,
        "value": estimate.value,
        "low": low,
        "high": high,
        "nominal": float(np.mean(estimate.nominal)),
        "unit": KINDS[estimate.parameter.kind].unit,
        "identifiable": estimate.identifiable,
        "at_bound": estimate.at_bound,
    }
