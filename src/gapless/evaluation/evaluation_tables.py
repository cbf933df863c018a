"""An evaluation as tables: the answer first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.evaluation.episode_scores import SCORES
from gapless.evaluation.tracking_errors import TRACKING

if TYPE_CHECKING:
    from gapless.evaluation.evaluation import Evaluation

SHOWN = 10
"""Parameters of the sensitivity that are shown."""


def evaluation_tables(evaluation: Evaluation) -> Group:
    """Answer, scores by world, survival by command, what parameters cost, notes."""
    style = "bold green" if evaluation.worlds[-1].survival == 1 else "bold red"
    parts: list[Text | Table] = [Text(evaluation.answer, style), scores_table(evaluation)]
    if len(set(evaluation.worlds[0].commands)) > 1:
        parts.append(commands_table(evaluation))
    if evaluation.sensitivity:
        parts.append(sensitivity_table(evaluation))
    parts += [Text(f"note: {note}", "dim") for note in evaluation.notes]
    return Group(*parts)


def scores_table(evaluation: Evaluation) -> Table:
    """A row a score, a column a world."""
    scenario = evaluation.scenario
    episodes = len(evaluation.worlds[0].survived)
    longest = max(max(w.seconds) for w in evaluation.worlds)
    title = f"{evaluation.policy} on {evaluation.robot}: {episodes} episodes of {longest:.3g} s"
    if scenario.push:
        title += f", pushed by {scenario.push:g} m/s every {scenario.push_every:g} s"
    table = Table(title=title)
    table.add_column("score")
    for world in evaluation.worlds:
        table.add_column(world.world, justify="right")
    table.add_row(
        "survival, %",
        *(f"{100 * w.survival:.0f} ± {100 * w.survival_error:.0f}" for w in evaluation.worlds),
    )
    for name in evaluation.worlds[0].scores:
        values = [w.mean(name) for w in evaluation.worlds]
        if not all(map(math.isnan, values)):
            unit = SCORES[name].unit if name in SCORES else TRACKING[name]
            table.add_row(f"{name.replace('_', ' ')}, {unit}", *map(_number, values))
    return table


def commands_table(evaluation: Evaluation) -> Table:
    """Survival by what was asked first."""
    table = Table(title="survival by command, %")
    table.add_column("command")
    for world in evaluation.worlds:
        table.add_column(world.world, justify="right")
    for command in dict.fromkeys(evaluation.worlds[0].commands):
        cells = []
        for world in evaluation.worlds:
            mine = [s for s, c in zip(world.survived, world.commands, strict=True) if c == command]
            cells.append(f"{100 * sum(mine) / len(mine):.0f}")
        table.add_row(command, *cells)
    return table


def sensitivity_table(evaluation: Evaluation) -> Table:
    """Parameters by what they cost within their interval, with a bar."""
    table = Table(title="what an identified parameter costs within its 95 % interval")
    for column in ("parameter", "interval", "survival lost, %", "", "error rises by"):
        table.add_column(column)
    for one in evaluation.sensitivity[:SHOWN]:
        low, high = one.interval
        bar = "█" * round(20 * max(0.0, one.cost))
        lost = f"{100 * one.cost:.0f}"
        table.add_row(one.parameter, f"{low:.3g} to {high:.3g}", lost, bar, _number(one.error_cost))
    return table


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
