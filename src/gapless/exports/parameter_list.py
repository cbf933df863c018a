"""`--to json`: every figure of the simulator with its unit, interval, prior and source."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from gapless.artifact import provenance, write_json
from gapless.errors import ModelError
from gapless.exports.exported import Exported, refuse_existing
from gapless.exports.simulator_parts import SimulatorParts
from gapless.identification.estimate import Estimate
from gapless.parameters import KINDS
from gapless.parameters.kind import JOINT, LINK, Kind
from gapless.robots import Robot
from gapless.worlds.effects import Effects

FORMAT = "gapless parameters 1"
RELATIVE = ("strength", "kd_ratio", "stretch", "shear")
"""Beginnings of kinds whose figure is a change: they are listed only where one was found."""
LIMITS = {"velocity": "rad/s", "lower": "rad", "upper": "rad", "default": "rad"}
"""Figures of joints that nothing identifies."""


def export_json(parts: SimulatorParts, path: Path, overwrite: bool = False) -> Exported:
    """Write the list."""
    refuse_existing(path, overwrite)
    write_json(path, parameter_list(parts))
    return Exported(path, "json", left_out=_unlisted(parts))


def parameter_list(parts: SimulatorParts) -> dict[str, Any]:
    """The list as plain JSON: one entry a figure and place."""
    return {
        "format": FORMAT,
        **parts.about(),
        "joints": list(parts.robot.joints.names),
        "locked": dict(parts.robot.locked),
        "parameters": [*_of_kinds(parts), *_of_limits(parts.robot)],
        "exported_by": provenance(),
    }


def _of_kinds(parts: SimulatorParts) -> list[dict[str, Any]]:
    found = []
    for kind in KINDS.values():
        for place in _places(parts.robot, kind):
            estimate = _estimate(parts, kind.name, place)
            if estimate is not None or not kind.name.startswith(RELATIVE):
                found += _entry(parts, kind, place, estimate)
    return found


def _places(robot: Robot, kind: Kind) -> tuple[str, ...]:
    if kind.place == JOINT:
        return robot.joints.names
    return robot.links if kind.place == LINK else ("",)


def _estimate(parts: SimulatorParts, kind: str, place: str) -> Estimate | None:
    """The one that says this figure; the last, where several do."""
    said = [e for e in parts.estimates if e.parameter.kind == kind]
    return next((e for e in reversed(said) if place in (e.parameter.places or ("",))), None)


def _entry(
    parts: SimulatorParts, kind: Kind, place: str, estimate: Estimate | None
) -> list[dict[str, Any]]:
    try:
        prior = kind.nominal(parts.nominal, Effects(), place)
        value = kind.nominal(parts.robot, parts.effects, place)
    except ModelError:  # a figure that this robot has no place for: no floor, no IMU
        return []
    row: dict[str, Any] = {
        "name": f"{kind.name}/{place}" if place else kind.name,
        "kind": kind.name,
        "place": place or None,
        "unit": kind.unit,
        "value": _finite(value),
        "interval95": None,
        "prior": {"value": _finite(prior), "std": None},
        "source": "the robot's description",
    }
    return [row if estimate is None else row | _found(estimate, prior, kind)]


def _found(estimate: Estimate, prior: float, kind: Kind) -> dict[str, Any]:
    """What an estimate adds; one that is shared by places as a factor, in each place's unit."""
    scale = prior if estimate.parameter.factor else 1.0
    low, high = sorted(scale * edge for edge in estimate.interval)
    learned = "identified" if estimate.identifiable else "not told apart by the recordings: prior"
    found = {
        "interval95": [low, high],
        "prior": {"value": scale * estimate.parameter.prior, "std": _std(estimate, scale)},
        "source": f"{learned} ({estimate.name})",
        "at_bound": estimate.at_bound,
    }
    return found | ({"value": estimate.value} if kind.name.startswith(RELATIVE) else {})


def _std(estimate: Estimate, scale: float) -> float:
    return abs(scale) * estimate.parameter.prior_std


def _finite(value: float) -> float | None:
    """JSON has no infinity: None is no limit."""
    return float(value) if math.isfinite(value) else None


def _of_limits(robot: Robot) -> list[dict[str, Any]]:
    """Limits and the default pose; None where there is no limit."""
    found = []
    for field, unit in LIMITS.items():
        for joint, value in zip(robot.joints.names, getattr(robot.joints, field), strict=True):
            found.append(
                {
                    "name": f"{field}/{joint}",
                    "kind": field,
                    "place": joint,
                    "unit": unit,
                    "value": _finite(value),
                    "interval95": None,
                    "prior": None,
                    "source": "the robot's description",
                }
            )
    return found


def _unlisted(parts: SimulatorParts) -> tuple[str, ...]:
    if parts.correction is None:
        return ()
    return ("the learned correction: it is no list of figures; --to isaaclab writes its weights",)
