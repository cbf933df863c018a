"""The learned correction: what it adds to each joint, how sure it is, and where it stops."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run
from gapless.closing.run import CORRECTION
from gapless.corrections import Correction
from gapless.reports.figures import bars, short
from gapless.reports.robot_picture import robot_svg

UNITS = {"action": "rad on the target", "torque": "N·m", "state": "in the state's units"}


def data(run: Run) -> dict[str, Any] | None:
    """Outputs and envelope; also of a correction that did not help and was not kept."""
    stage = run.stages.get("corrected")
    if stage is None or not (run.path / CORRECTION).exists():
        return {"absent": stage.why} if stage is not None and stage.why else None
    found, usage = Correction.load(run.path / CORRECTION), dict(stage.usage)
    contract, mean = found.contract, usage.get("mean_output", {})
    unit = UNITS[contract.head]
    return {
        "kept": stage.kept,
        "why": stage.why,
        "contract": contract,
        "unit": unit,
        "outside": usage.get("outside"),
        "outside_most": _most(usage.get("outside_by_output", {})),
        "left_out": found.made_by.get("left_out", {}),
        "drawing": robot_svg(run.robot, mean, None, "mean output of the correction at each joint"),
        "clips": run.read("replays").get("usage", []),
        "figures": {"correction-outputs": _outputs(usage, unit)} if mean else {},
    }


def _most(outside: dict[str, float]) -> list[tuple[str, float]]:
    """Outputs that are outside their envelope more than half of the time."""
    most = sorted(outside.items(), key=lambda pair: -pair[1])
    return [(name, share) for name, share in most if share > 0.5]


def _outputs(usage: dict[str, Any], unit: str) -> dict[str, Any]:
    series = {
        "mean size": usage["mean_output"],
        "spread of the ensemble": usage["mean_spread"],
        "largest": usage["largest_output"],
    }
    return bars({n: {short(j): v for j, v in s.items()} for n, s in series.items()}, unit)
