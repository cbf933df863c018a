"""Policies side by side: a table for each world, a row for each policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.evaluation.evaluation import Evaluation, WorldScores
from gapless.printing import PrintsAsTables

SCORES = {
    "survival": ("survival, %", 100.0),
    "success": ("success, %", 100.0),
    "e_g_mpjpe": ("E_g-mpjpe, mm", 1.0),
    "e_mpjpe": ("E_mpjpe, mm", 1.0),
    "e_acc": ("E_acc, mm/frame²", 1.0),
    "e_vel": ("E_vel, mm/frame", 1.0),
    "e_fpos": ("E_fpos, m", 1.0),
    "e_epos": ("E_epos, m", 1.0),
    "e_ang": ("E_ang, deg", 1.0),
    "velocity_error": ("velocity error, m/s", 1.0),
}
"""Score -> title and factor; those that a policy does not have are left out."""

Spreads = dict[str, tuple[float, float]]
"""Score -> mean and standard deviation over seeds; the latter is NaN where there is one."""


def spread(found: Sequence[WorldScores]) -> Spreads:
    """Scores of a policy in a world; one element a seed."""
    names = [k for k in SCORES if k == "survival" or any(k in one.scores for one in found)]
    values = {k: [one.survival if k == "survival" else one.mean(k) for one in found] for k in names}
    return {
        name: (float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else float("nan"))
        for name, v in values.items()
    }


def plain_scores(rows: Mapping[str, Spreads]) -> dict[str, dict[str, list[float]]]:
    """Plain JSON types; NaN, which a score without episodes is, is left out."""
    return {
        policy: {
            k: [v for v in pair if np.isfinite(v)] for k, pair in row.items() if pair[0] == pair[0]
        }
        for policy, row in rows.items()
    }


def score_table(title: str, rows: Mapping[str, Spreads]) -> Any:
    """A row a policy, a column a score that one of them has."""
    from rich.table import Table

    shown = [n for n in SCORES if any(n in r and np.isfinite(r[n][0]) for r in rows.values())]
    table = Table("policy", title=title)
    for name in shown:
        table.add_column(SCORES[name][0], justify="right")
    for policy, row in rows.items():
        table.add_row(policy, *(_cell(row.get(name), SCORES[name][1]) for name in shown))
    return table


def _cell(pair: tuple[float, float] | None, factor: float) -> str:
    if pair is None or not np.isfinite(pair[0]):
        return "-"
    mean, std = (factor * v for v in pair)
    return f"{mean:.3g}" + (f" ± {std:.2g}" if np.isfinite(std) else "")


@dataclass(frozen=True)
class PoliciesSideBySide(PrintsAsTables):
    """Evaluations of several policies in the same worlds.

    Attributes:
        found: what people call a policy -> its evaluation.
    """

    found: Mapping[str, Evaluation]

    def scores(self) -> dict[str, dict[str, Spreads]]:
        """World -> policy -> scores."""
        rows: dict[str, dict[str, Spreads]] = {}
        for name, evaluation in self.found.items():
            for world in evaluation.worlds:
                rows.setdefault(world.world, {})[name] = spread([world])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: evaluation.to_dict() for name, evaluation in self.found.items()}

    def __rich__(self) -> Any:
        from rich.console import Group

        return Group(*(score_table(world, rows) for world, rows in self.scores().items()))
