"""The gap by joint, horizon, payload, unit and motion, for every stage."""

from __future__ import annotations

import math
from typing import Any

from gapless.closing import Run
from gapless.closing.stage import Stage
from gapless.measurement import Gap
from gapless.measurement.score import BODY_METRICS, JOINT_METRICS
from gapless.measurement.spans import FULL
from gapless.reports.figures import bars, lines, short
from gapless.reports.sections.measured_stages import measured

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
    stages, horizon = measured(run), run.facts["settings"]["horizon"]
    if not stages:
        return None
    gaps = {name: stage.gap for name, stage in stages.items() if stage.gap is not None}
    return {
        "figures": _figures(stages, horizon),
        "horizon": horizon,
        "stages": list(gaps),
        "metrics": _metrics(gaps, horizon),
        "skipped": sorted({text for gap in gaps.values() for text in gap.skipped}),
        "diverged": {name: sum(c.diverged for c in gap.clips) for name, gap in gaps.items()},
    }


def _figures(stages: dict[str, Stage], horizon: float) -> dict[str, Any]:
    joints = {
        name: {short(j): v for j, v in stage.by_joint(horizon).items()}
        for name, stage in stages.items()
    }
    figures = {
        "gap-joints": bars(joints, "rad", height=400),
        "gap-horizons": lines(
            {n: _by_horizon(stage) for n, stage in stages.items()}, "seconds replayed", "rad"
        ),
    }
    for group in ("payload", "unit", "motion"):
        series = {name: stage.by(group, horizon) for name, stage in stages.items()}
        shown = _worst(series["raw"])
        if len(shown) > 1:
            figures[f"gap-{group}"] = bars(
                {n: {k: v[k] for k in shown if k in v} for n, v in series.items()}, "rad"
            )
    return figures


def _by_horizon(stage: Stage) -> dict[float, float | None]:
    horizons = stage.gap.horizons if stage.gap is not None else ()
    return {float(h): stage.error(h) for h in horizons if h != FULL}


def _worst(values: dict[str, float]) -> list[str]:
    """All labels in order, or those with the largest values where there are too many."""
    if len(values) <= MOTIONS:
        return list(values)
    return sorted(values, key=lambda k: -values[k])[:MOTIONS]


def _metrics(gaps: dict[str, Gap], horizon: float) -> list[dict[str, Any]]:
    units, rows = {**JOINT_METRICS, **BODY_METRICS}, []
    for key, title in METRICS.items():
        values = [gap.mean(key, horizon).value for gap in gaps.values()]
        values = [v if math.isfinite(v) else None for v in values]
        if any(v is not None for v in values):
            rows.append({"title": title, "unit": units[key], "values": values})
    return rows
