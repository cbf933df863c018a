"""The gap by joint, horizon, payload, unit and motion, for every stage."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run
from gapless.reports.figures import bars, lines, short
from gapless.reports.sections.measured_stages import at_horizon, by_joint, measured

METRICS = {
    "replay_error": "replay error",
    "mpjae": "MPJAE of what did not diverge",
    "rmse": "root mean square",
    "lag_ms": "lag",
    "e_g_mpjpe": "MPJPE, global",
    "e_vel": "E_vel",
    "e_acc": "E_acc",
    "torque_rmse": "torque",
}
MOTIONS = 40
"""Motions that are drawn: those with the largest error."""


def data(run: Run) -> dict[str, Any] | None:
    """Figures, and a table of metrics."""
    gaps, horizon = measured(run), run.facts["settings"]["horizon"]
    if not gaps:
        return None
    figures = {
        "gap-joints": bars(
            {n: {short(j): v for j, v in by_joint(g, horizon).items()} for n, g in gaps.items()},
            "rad",
            height=400,
        ),
        "gap-horizons": lines(
            {n: _by_horizon(g) for n, g in gaps.items()}, "seconds replayed", "rad"
        ),
    }
    for group in ("payload", "unit", "motion"):
        series = {n: _by_group(g, horizon, group) for n, g in gaps.items()}
        series = {
            n: {k: values[k] for k in _worst(series["raw"]) if k in values}
            for n, values in series.items()
        }
        if len(series["raw"]) > 1:
            figures[f"gap-{group}"] = bars(series, "rad")
    return {
        "figures": figures,
        "horizon": horizon,
        "stages": list(gaps),
        "metrics": _metrics(gaps, horizon),
        "skipped": sorted({text for gap in gaps.values() for text in gap["skipped"]}),
        "diverged": {n: sum(s["diverged"] for s in g["summary"]) for n, g in gaps.items()},
    }


def _by_horizon(gap: dict[str, Any]) -> dict[float, float | None]:
    seconds = [s for s in gap["summary"] if s["horizon"] != "full"]
    return {float(s["horizon"]): s["metrics"]["replay_error"]["value"] for s in seconds}


def _by_group(gap: dict[str, Any], horizon: float, group: str) -> dict[str, float | None]:
    return {k: v["value"] for k, v in at_horizon(gap, horizon)["by"][group].items()}


def _worst(values: dict[str, float | None]) -> list[str]:
    """All labels in order, or those with the largest values where there are too many."""
    if len(values) <= MOTIONS:
        return list(values)
    return sorted(values, key=lambda k: -(values[k] or 0.0))[:MOTIONS]


def _metrics(gaps: dict[str, Any], horizon: float) -> list[dict[str, Any]]:
    rows = []
    for key, title in METRICS.items():
        values = [at_horizon(gap, horizon)["metrics"][key]["value"] for gap in gaps.values()]
        if any(v is not None for v in values):
            rows.append({"title": title, "unit": gaps["raw"]["units"][key], "values": values})
    return rows
