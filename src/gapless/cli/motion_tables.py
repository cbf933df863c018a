"""What a motion asks of a robot, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from gapless.motions import CATALOGUE, Motion
from gapless.motions.levels import LEVELS
from gapless.motions.limits import MotionReport
from gapless.robots import Robot

Checked = Sequence[tuple[Motion, MotionReport]]


def catalogue() -> Table:
    """Every motion that can be made by name."""
    table = _table("Motions", "name", "what", "options")
    for name, maker in CATALOGUE.items():
        table.add_row(name, Text(maker.what), Text(", ".join(maker.options)))
    for name, what in LEVELS.items():
        table.add_row(name, Text(what), Text("count, seconds, rate, seed"))
    return table


def report(checked: Checked, robot: Robot) -> list[Table]:
    """One motion joint by joint, several by a line each; then what they violate."""
    tables = [_joints(*checked[0], robot)] if len(checked) == 1 else [_summary(checked)]
    return [*tables, _violations(checked)] if any(r.violations for _, r in checked) else tables


def _joints(motion: Motion, report: MotionReport, robot: Robot) -> Table:
    title = f"{motion.name}: {motion.seconds:.1f} s at {motion.rate:g} Hz"
    table = _table(
        title, "joint", "range (rad)", "allowed (rad)", "velocity (rad/s)", "torque (N·m)"
    )
    joints, peaks = robot.joints, report.peaks
    for i, name in enumerate(joints.names):
        table.add_row(
            Text(name),
            f"{peaks['lower'][i]:+.2f} to {peaks['upper'][i]:+.2f}",
            f"{joints.lower[i]:+.2f} to {joints.upper[i]:+.2f}",
            _of(peaks["velocity"][i], joints.velocity[i]),
            _of(peaks["torque"][i], joints.effort[i]),
        )
    return table


def _of(value: float, limit: float) -> str:
    share = f" ({value / limit:.0%})" if 0 < limit < np.inf else ""
    return f"{value:.2f} of {limit:g}{share}"


def _summary(checked: Checked) -> Table:
    table = _table(f"{len(checked)} motions", "motion", "seconds", "rate (Hz)", "violations")
    for motion, report in checked:
        kinds = sorted({v.kind for v in report.violations})
        found = ", ".join(kinds) or "none"
        table.add_row(Text(motion.name), f"{motion.seconds:.1f}", f"{motion.rate:g}", found)
    return table


def _violations(checked: Checked) -> Table:
    table = _table("Violations", "motion", "kind", "where", "time (s)", "value", "limit")
    for motion, report in checked:
        for v in report.violations:
            value, limit = (f"{x:.3g} {v.unit}" for x in (v.value, v.limit))
            table.add_row(Text(motion.name), v.kind, Text(v.joint), f"{v.time:.2f}", value, limit)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title), title_justify="left")
    for column in columns:
        table.add_column(column)
    return table
