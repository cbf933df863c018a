"""Predicted walking velocities as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

if TYPE_CHECKING:
    from gapless.evaluation.walk_prediction import WalkPrediction

NAMED = 6
"""Commands that were left out, by name."""


def walk_prediction_tables(found: WalkPrediction) -> Group:
    """Every command, then the mean errors."""
    parts = [_walks(found), _errors(found)]
    if found.left_out:
        more = len(found.left_out) - NAMED
        named = "; ".join(found.left_out[:NAMED]) + (f"; and {more} more" if more > 0 else "")
        parts.append(f"not reported, because they taught or chose: {named}")  # type: ignore[arg-type]
    return Group(*parts)


def _walks(found: WalkPrediction) -> Table:
    title = f"vx, vy (m/s), wz (rad/s) under {found.policy}"
    caption = f"{found.seconds:.0f} s of steady walking; the robot's base is {found.base}"
    table = Table(title=title, caption=caption)
    several = len({walk.unit for walk in found.walks}) > 1
    for column in ("unit", "command") if several else ("command",):
        table.add_column(column)
    robot = "robot (estimated)" if found.base == "estimated" else "robot"
    for column in (robot, *found.errors):
        table.add_column(column, justify="right")
    for walk in found.walks:
        told = [str(walk.unit)] if several else []
        told.append(" ".join(f"{v:g}" for v in walk.command))
        cells = [
            _text(walk.simulated[world]) + (f" ({100 * share:.0f} % fell)" if share else "")
            for world, share in walk.fell.items()
        ]
        table.add_row(*told, _text(walk.robot), *cells)
    return table


def _errors(found: WalkPrediction) -> Table:
    count = len(found.walks)
    caption = "a perfect simulator: what the robot's own takes leave open" if found.floor else None
    table = Table(title=f"mean error, {count} commands", caption=caption)
    table.add_column("")
    for world in (*found.errors, *(["a perfect simulator"] if found.floor else [])):
        table.add_column(world, justify="right")
    for axis, name in enumerate(("vx, m/s", "vy, m/s", "wz, rad/s")):
        own = {world: error[axis] for world, error in found.errors.items()}
        least = min(own.values())
        cells = [f"[bold]{e:.4f}[/bold]" if e == least else f"{e:.4f}" for e in own.values()]
        table.add_row(name, *cells, *([f"{found.floor[axis]:.4f}"] if found.floor else []))
    return table


def _text(velocity: tuple[float, float, float]) -> str:
    return " ".join(f"{v:.3f}" for v in velocity)
