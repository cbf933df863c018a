"""Summary: what was reached, in a sentence, a table and two drawings of the robot."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run
from gapless.closing.stage import STAGES, Stage
from gapless.reports.figures import bars
from gapless.reports.robot_picture import robot_svg
from gapless.reports.sections.measured_stages import last_kept, measured


def data(run: Run) -> dict[str, Any]:
    """Errors of every stage, and joint by joint before and after."""
    stages, horizon = measured(run), run.facts["settings"]["horizon"]
    shown = {
        "finished": bool(run.summary),
        "horizon": horizon,
        "rows": [],
        "notes": run.facts["notes"],
        "split": run.facts["split"],
        "drawings": [],
        "sentence": "",
        "figures": {},
    }
    if not stages:
        return shown
    every = run.stages
    shown["rows"] = [_row(name, every, horizon) for name in STAGES]
    shown["sentence"] = sentence(run)
    shown["drawings"] = _drawings(run, stages, horizon)
    shown["figures"] = {"summary-bars": _bars(stages, horizon)}
    return shown


def sentence(run: Run) -> str:
    """How much of the gap is gone, by what."""
    stages, horizon = measured(run), run.facts["settings"]["horizon"]
    count, last = len(run.facts["split"]["test"]), last_kept(stages)
    raw, now = stages["raw"].error(horizon) or 0.0, stages[last].error(horizon) or 0.0
    start = (
        f"Over {horizon:g} s, on {count} held-out {'motion' if count == 1 else 'motions'}, the "
        f"nominal simulator's joints are {raw:.4f} rad from the robot's"
    )
    if last == "raw":
        return start + "; nothing that was tried so far brings it closer."
    how = {
        "identified": "with identified parameters",
        "corrected": "with identified parameters and a learned correction"
        if run.keeps("identified")
        else "with a learned correction",
    }[last]
    change = f"{abs(1 - now / raw):.0%} {'less' if now <= raw else 'more'}" if raw else "no change"
    return start + f", and {now:.4f} rad {how}: {change}."


def _row(name: str, stages: dict[str, Stage], horizon: float) -> dict[str, Any]:
    if name not in stages:
        absent = dict.fromkeys(("error", "less", "choose"))
        return {"name": name, **absent, "kept": False, "why": "not there yet"}
    stage, raw = stages[name], stages["raw"].error(horizon)
    error = stage.error(horizon)
    return {
        "name": name,
        "error": error,
        "less": None if error is None or not raw or name == "raw" else 1 - error / raw,
        "kept": stage.kept,
        "why": stage.why,
        "choose": stage.choose,
    }


def _drawings(run: Run, stages: dict[str, Stage], horizon: float) -> list[dict[str, str]]:
    named = {name: stages[name].by_joint(horizon) for name in ("raw", last_kept(stages))}
    top = max(named["raw"].values(), default=0.0)
    return [
        {
            "title": f"{name}: error of each joint, at most {max(values.values()):.3f} rad",
            "svg": robot_svg(run.robot, values, top, f"mean error of each joint, {name} simulator"),
        }
        for name, values in named.items()
    ]


def _bars(stages: dict[str, Stage], horizon: float) -> dict[str, Any]:
    series = {}
    for name, stage in stages.items():
        loads = stage.by("payload", horizon)
        series[name] = {"all": stage.error(horizon)} | (loads if len(loads) > 1 else {})
    return bars(series, "replay error, rad")
