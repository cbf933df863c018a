"""Summary: what was reached, in a sentence, a table and two drawings of the robot."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run
from gapless.reports.figures import bars
from gapless.reports.robot_picture import robot_svg
from gapless.reports.sections.measured_stages import STAGES, at_horizon, by_joint, kept, measured


def data(run: Run) -> dict[str, Any]:
    """Errors of every stage, and joint by joint before and after."""
    gaps, horizon = measured(run), run.facts["settings"]["horizon"]
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
    if not gaps:
        return shown
    last = kept(run)
    shown["rows"] = [_row(run, name) for name in STAGES]
    shown["sentence"] = sentence(run)
    shown["drawings"] = _drawings(run, gaps, last, horizon)
    shown["figures"] = {"summary-bars": _bars(gaps, horizon)}
    return shown


def sentence(run: Run) -> str:
    """How much of the gap is gone, by what."""
    count, last = len(run.facts["split"]["test"]), kept(run)
    raw, now = run.stage("raw")["error"], run.stage(last)["error"]
    start = (
        f"Over {run.facts['settings']['horizon']:g} s, on {count} "
        f"held-out {'motion' if count == 1 else 'motions'}, the nominal simulator's joints are "
        f"{raw:.4f} rad from the robot's"
    )
    if last == "raw":
        return start + "; nothing that was tried so far brings it closer."
    how = {
        "identified": "with identified parameters",
        "corrected": "with identified parameters and a learned correction"
        if run.stage("identified").get("kept")
        else "with a learned correction",
    }[last]
    return start + f", and {now:.4f} rad {how}: {1 - now / raw:.0%} less."


def _row(run: Run, name: str) -> dict[str, Any]:
    stage = run.stage(name)
    raw = run.stage("raw")["error"]
    error = stage.get("error")
    return {
        "name": name,
        "error": error,
        "less": None if error is None or name == "raw" else 1 - error / raw,
        "kept": stage.get("kept", name == "raw"),
        "why": stage.get("why", "") if stage else "not there yet",
        "choose": stage.get("choose"),
    }


def _drawings(run: Run, gaps: dict[str, Any], last: str, horizon: float) -> list[dict[str, str]]:
    before, after = by_joint(gaps["raw"], horizon), by_joint(gaps[last], horizon)
    top = max(before.values(), default=0.0)
    named = {"raw": before, last: after}
    return [
        {
            "title": f"{name}: error of each joint, at most {max(values.values()):.3f} rad",
            "svg": robot_svg(run.robot, values, top, f"mean error of each joint, {name} simulator"),
        }
        for name, values in named.items()
    ]


def _bars(gaps: dict[str, Any], horizon: float) -> dict[str, Any]:
    series = {}
    for name, gap in gaps.items():
        at = at_horizon(gap, horizon)
        loads = {load: mean["value"] for load, mean in at["by"]["payload"].items()}
        whole = {"all": at["metrics"]["replay_error"]["value"]}
        series[name] = whole | (loads if len(loads) > 1 else {})
    return bars(series, "replay error, rad")
