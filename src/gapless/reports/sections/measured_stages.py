"""What several sections read of a run: the stages that were measured, by the world's name."""

from __future__ import annotations

from typing import Any

from gapless.closing import Run

STAGES = ("raw", "identified", "corrected")


def measured(run: Run) -> dict[str, dict[str, Any]]:
    """Stage -> its gap, for those that are there."""
    found = {name: run.stage(name) for name in STAGES}
    return {name: stage["gap"] for name, stage in found.items() if "gap" in stage}


def at_horizon(gap: dict[str, Any], horizon: float | str) -> dict[str, Any]:
    """The summary of one horizon."""
    return next(s for s in gap["summary"] if s["horizon"] == horizon)


def by_joint(gap: dict[str, Any], horizon: float | str) -> dict[str, float]:
    """Joint -> mean absolute error, rad; those that were scored."""
    values = at_horizon(gap, horizon)["joints"]["replay_error"]
    return {j: v for j, v in zip(gap["joints"], values, strict=True) if v is not None}


def kept(run: Run) -> str:
    """The last stage that helped."""
    return [name for name in STAGES if name == "raw" or run.stage(name).get("kept")][-1]
