"""Likely causes of the nominal simulator's error, over all and joint by joint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapless.closing import Run
from gapless.measurement.causes import CauseSize
from gapless.reports.figures import CAUSES, REMAINS, lying_bars, short


def data(run: Run) -> dict[str, Any] | None:
    """Shares of the squared error."""
    gap = run.read("raw").get("gap")
    found = gap and gap["attribution"]
    if not found:
        return None
    colours = dict(zip(found["units"], CAUSES, strict=False)) | {"unexplained": REMAINS}
    joints = found["joints"]
    shares = {
        cause: {j: 100 * told["share"][cause] for j, told in joints.items()}
        for cause in found["units"]
    }
    shares["unexplained"] = {j: 100 * told["unexplained"] for j, told in joints.items()}
    overall = {cause: {"all joints": 100 * share} for cause, share in found["overall"].items()}
    unit = "% of the squared error"
    return {
        "figures": {
            "attribution-all": lying_bars(overall, unit, colours),
            "attribution-joints": lying_bars(shares, unit, colours),
        },
        "windows": found["windows"],
        "horizon": found["horizon"],
        "loads": found["loads"],
        "sizes": _sizes(found.get("sizes", ())),
        "largest": _largest(joints, found["units"]),
    }


def _sizes(found: Sequence[dict[str, Any]]) -> dict[str, str]:
    """For each cause that joints share, its figures in words."""
    told: dict[str, list[str]] = {}
    for size in found:
        told.setdefault(size["cause"], []).append(str(CauseSize(**size)))
    return {cause: ", ".join(figures) for cause, figures in told.items()}


def _largest(joints: dict[str, Any], units: dict[str, str]) -> list[dict[str, Any]]:
    """For each joint the cause that explains most of it, and how large it would be."""
    rows = []
    for joint, told in joints.items():
        cause = max(units, key=lambda c: told["share"][c])
        if told["share"][cause] > 0.05:
            rows.append(
                {
                    "joint": short(joint),
                    "cause": cause,
                    "share": told["share"][cause],
                    "amplitude": told["amplitude"][cause],
                    "unit": units[cause],
                    "weight": told["weight"],
                }
            )
    return sorted(rows, key=lambda row: -row["weight"] * row["share"])
