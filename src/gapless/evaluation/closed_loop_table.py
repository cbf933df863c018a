"""A closed-loop comparison as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from gapless.evaluation.closed_loop import ClosedLoop


def closed_loop_table(found: ClosedLoop) -> Table:
    """The robot's mean, each simulator's, and how far their distributions are apart."""
    worlds = list(found.rows[0].distance)
    table = Table(
        title="predicted and done: mean (distance)",
        caption=f"{found.recordings} clips of the robot, {found.seconds:.0f} s; Wasserstein-1",
    )
    table.add_column("")
    table.add_column("robot", justify="right")
    for world in worlds:
        table.add_column(world, justify="right")
    for row in found.rows:
        least = min(row.distance.values())
        cells = []
        for world in worlds:
            mean, distance = row.simulated[world], row.distance[world]
            text = f"({distance:.3g})" if mean is None else f"{mean:.3g} ({distance:.3g})"
            cells.append(f"[bold]{text}[/bold]" if distance == least else text)
        robot = "" if row.robot is None else f"{row.robot:.3g}"
        table.add_row(f"{row.name}, {row.unit}", robot, *cells)
    return table
