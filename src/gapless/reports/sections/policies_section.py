"""Policies: what `gapless evaluate` found of each, the answer first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from gapless.closing import Run
from gapless.errors import FormatError
from gapless.evaluation.episode_scores import SCORES
from gapless.evaluation.evaluation import Evaluation, Sensitivity
from gapless.evaluation.kept_evaluations import FOLDER, kept_evaluations
from gapless.evaluation.tracking_errors import TRACKING
from gapless.reports.colours import COLOURS
from gapless.reports.figures import Figure, bars, lying_bars, short

JOINTS = 12
"""Joints whose torque is drawn: those nearest to their limit."""
LOST, RISES = "survival lost, %", "error rises by"


def data(run: Run) -> dict[str, Any]:
    """Every policy with its figures; without any, what to type."""
    found: dict[str, Any] = {"run": str(run.path), "policies": [], "figures": {}}
    try:
        for k, (evaluation, kept) in enumerate(kept_evaluations(run.path)):
            found["policies"].append(_policy(evaluation, kept.get("closed_loop")))
            found["figures"] |= {f"policies-{k}-{n}": f for n, f in _figures(evaluation).items()}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{run.path / FOLDER} has a damaged evaluation ({error!r}); delete it, or evaluate anew"
        ) from error
    return found


def _policy(evaluation: Evaluation, likeness: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "name": evaluation.policy,
        "answer": evaluation.answer,
        "asked": _asked(evaluation),
        "worlds": [w.world for w in evaluation.worlds],
        "scores": _scores(evaluation),
        "falls": _falls(evaluation),
        "sensitivity": [_cost(one) for one in _ranked(evaluation)],
        "closed_loop": likeness and _closed_loop(likeness),
        "notes": list(evaluation.notes),
    }


def _asked(evaluation: Evaluation) -> str:
    """How many episodes of what, for people."""
    scenario, worlds = evaluation.scenario, evaluation.worlds
    stood = [t for w in worlds for t, s in zip(w.seconds, w.survived, strict=True) if s]
    longest = max(stood, default=scenario.seconds)  # where all fell, none was as long as asked
    text = f"{evaluation.robot}, {len(worlds[0].survived)} episodes of up to {longest:.3g} s"
    if scenario.push:
        text += f", pushed by {scenario.push:g} m/s every {scenario.push_every:g} s"
    return text


def _scores(evaluation: Evaluation) -> list[dict[str, Any]]:
    """A row a score, a cell a world; survival first."""
    worlds = evaluation.worlds
    shares = [f"{100 * w.survival:.0f} ± {100 * w.survival_error:.0f}" for w in worlds]
    rows = [{"title": "survival, %", "cells": shares}]
    for name in worlds[0].scores:
        values = [w.mean(name) for w in worlds]
        if not all(map(math.isnan, values)):
            unit = SCORES[name].unit if name in SCORES else TRACKING[name]
            title = f"{name.replace('_', ' ')}, {unit}"
            rows.append({"title": title, "cells": [_number(v) for v in values]})
    return rows


def _falls(evaluation: Evaluation) -> list[dict[str, Any]]:
    """What falls began with, in each world the most common first."""
    rows = []
    for world in evaluation.worlds:
        pushed = Counter(fall.cause for fall in world.falls if fall.pushed)
        for cause, count in Counter(fall.cause for fall in world.falls).most_common():
            told = {"cause": cause, "count": count, "pushed": pushed[cause]}
            rows.append({"world": world.world, **told})
    return rows


def _ranked(evaluation: Evaluation) -> tuple[Sensitivity, ...]:
    return evaluation.with_sensitivity(evaluation.sensitivity).sensitivity


def _cost(one: Sensitivity) -> dict[str, str]:
    low, high = one.interval
    return {
        "parameter": one.parameter,
        "interval": f"{low:.3g} to {high:.3g}",
        "lost": f"{100 * one.cost:.0f}",
        "rises": _number(one.error_cost),
    }


def _closed_loop(likeness: dict[str, Any]) -> dict[str, Any]:
    """Means and distances; of each row the nearest simulator is marked."""
    rows = likeness["rows"]
    worlds = list(rows[0]["distance"])
    return {
        "worlds": worlds,
        "rows": [_likeness(row, worlds) for row in rows],
        "clips": int(likeness["recordings"]),
        "seconds": f"{likeness['seconds']:.0f}",
    }


def _likeness(row: dict[str, Any], worlds: list[str]) -> dict[str, Any]:
    least = min(row["distance"].values())
    cells = [
        {
            "mean": _number(row["simulated"][world]),
            "distance": _number(row["distance"][world]),
            "nearest": row["distance"][world] == least,
        }
        for world in worlds
    ]
    return {
        "title": f"{row['name']}, {row['unit']}",
        "robot": _number(row["robot"]),
        "cells": cells,
    }


def _figures(evaluation: Evaluation) -> dict[str, Figure]:
    """What parameters cost, and how near joints come to their limits; none of what is unknown."""
    found = {}
    if ranked := _ranked(evaluation):
        found["sensitivity"] = _costs(ranked)
    peaks = evaluation.worlds[-1].peaks
    if peaks:
        found["peaks"] = _peaks(evaluation, sorted(peaks, key=lambda j: -peaks[j])[:JOINTS])
    return found


def _costs(ranked: tuple[Sensitivity, ...]) -> Figure:
    """Loss of survival by parameter; where none costs any, the rise of the error."""
    lost = {one.parameter: 100 * one.cost for one in ranked}
    unit, values = LOST, lost
    if max(lost.values()) <= 0:
        unit, values = RISES, {one.parameter: one.error_cost for one in ranked}
    return lying_bars({unit: values}, unit, {unit: COLOURS["identified"]})


def _peaks(evaluation: Evaluation, joints: Iterable[str]) -> Figure:
    joints = list(joints)
    shares = {
        w.world: {short(j): 100 * w.peaks[j] for j in joints if j in w.peaks}
        for w in evaluation.worlds
    }
    return bars(shares, "% of the limit")


def _number(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"
