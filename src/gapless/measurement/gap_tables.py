"""A Gap as tables for people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from gapless.measurement.attribution import Attribution
from gapless.measurement.gap import Gap, Mean
from gapless.measurement.score import BODY_METRICS, JOINT_METRICS
from gapless.measurement.spans import Horizon

LABELS = {
    "replay_error": "replay error",
    "mpjae": "MPJAE",
    "rmse": "RMSE",
    "q_dis": "Q_dis",
    "lag_ms": "lag",
    "correlation": "correlation",
    "large_gap_ratio": "large gaps",
    "gap_iqr": "gap IQR",
    "gap_range": "gap range",
    "torque_rmse": "torque RMSE",
    "e_g_mpjpe": "E_g-mpjpe",
    "e_mpjpe": "E_mpjpe",
    "e_vel": "E_vel",
    "e_acc": "E_acc",
    "root_vel": "root E_vel",
    "success": "success",
    "survival_s": "survival",
}
GROUPS_SHOWN = 12
"""A grouping with more rows than this shows only the worst."""


def gap_tables(gap: Gap) -> Group:
    """Everything a first look needs: by horizon, by joint, by group, causes, what was skipped."""
    parts: list[Any] = [_by_horizon(gap), _by_joint(gap, gap.horizons[-1])]
    parts += [t for g in ("motion", "payload", "unit") if (t := _by_group(gap, g)) is not None]
    known = gap.end_effectors and np.isfinite(gap.offset_cm(gap.horizons[-1])).any()
    parts += [_end_effectors(gap)] if known else []
    parts += [_causes(gap.attribution)] if gap.attribution else []
    parts += [Text(f"not computed: {line}", style="yellow") for line in gap.skipped]
    world = gap.identity
    parts.append(
        Text(
            f"{world.engine} {world.version}, {world.robot}, {world.rate:g} Hz control, "
            f"{1000 * world.timestep:g} ms steps, identity {world.key}",
            style="dim",
        )
    )
    return Group(*parts)


def _horizon(horizon: Horizon) -> str:
    return "full clip" if isinstance(horizon, str) else f"{horizon:g} s"


def _number(value: float, digits: int = 3) -> str:
    if not math.isfinite(value):
        return "-"
    if abs(value) < 1e-12:
        return "0"
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:.0f}"


def _mean(mean: Mean) -> str:
    if not mean.clips:
        return "-"
    spread = f" ±{_number(mean.half_width, 2)}" if math.isfinite(mean.half_width) else ""
    return _number(mean.value) + spread


def _titled(title: str) -> Table:
    return Table(title=title, title_justify="left", min_width=len(title) + 2)


def _by_horizon(gap: Gap) -> Table:
    table = _titled("Gap by horizon (mean over clips, 95 % interval)")
    table.add_column("metric")
    table.add_column("unit")
    for horizon in gap.horizons:
        table.add_column(_horizon(horizon), justify="right")
    units = {**JOINT_METRICS, **BODY_METRICS}
    for metric in units:
        means = [gap.mean(metric, h) for h in gap.horizons]
        if any(m.clips for m in means):
            table.add_row(LABELS[metric], units[metric], *map(_mean, means))
    table.add_section()
    counts = [gap.at(h) for h in gap.horizons]
    table.add_row("windows", "", *(str(sum(c.windows for c in clips)) for clips in counts))
    table.add_row("diverged", "", *(str(sum(c.diverged for c in clips)) for clips in counts))
    table.add_row("masked samples", "", *(str(sum(c.masked for c in clips)) for clips in counts))
    return table


def _by_joint(gap: Gap, horizon: Horizon) -> Table:
    table = _titled(f"Gap by joint, {_horizon(horizon)}, worst first")
    table.add_column("joint", no_wrap=True)
    values = {m: gap.joint(m, horizon) for m in JOINT_METRICS}
    metrics = [m for m in JOINT_METRICS if np.isfinite(values[m]).any()]
    for metric in metrics:
        table.add_column(f"{LABELS[metric]}\n({JOINT_METRICS[metric]})", justify="right")
    for j in np.argsort(-np.nan_to_num(values["replay_error"], nan=-1.0)):
        if np.isfinite(values["replay_error"][j]):
            table.add_row(Text(gap.joints[j]), *(_number(float(values[m][j])) for m in metrics))
    return table


def _by_group(gap: Gap, group: str) -> Table | None:
    horizon = gap.horizons[-1]
    found = gap.by(group, "replay_error", horizon)
    if len(found) < 2:
        return None
    ranked = sorted(found, key=lambda n: -found[n].value)
    cut = len(ranked) > GROUPS_SHOWN
    note = f", worst {GROUPS_SHOWN} of {len(ranked)}" if cut else ""
    table = _titled(f"Gap by {group}, {_horizon(horizon)}{note}")
    table.add_column(group)
    for column in ("clips", "replay error (rad)", "lag (ms)", "E_g-mpjpe (mm)"):
        table.add_column(column, justify="right")
    others = {m: gap.by(group, m, horizon) for m in ("lag_ms", "e_g_mpjpe")}
    for name in ranked[:GROUPS_SHOWN]:
        row = [found[name], *(others[m][name] for m in others)]
        table.add_row(Text(name), str(found[name].clips), *map(_mean, row))
    return table


def _end_effectors(gap: Gap) -> Table:
    horizon = gap.horizons[-1]
    table = _titled(f"End-effector offset, {_horizon(horizon)}, cm")
    for column in ("point", "X", "Y", "Z"):
        table.add_column(column, justify="left" if column == "point" else "right")
    for name, offset in zip(gap.end_effectors, gap.offset_cm(horizon), strict=True):
        table.add_row(Text(name), *(_number(float(v)) for v in offset))
    return table


def _causes(found: Attribution) -> Group:
    table = _titled(
        f"Likely causes: share of the squared error over {found.horizon:g} s (size of the cause)"
    )
    table.add_column("joint", no_wrap=True)
    order = [found.causes.index(c) for c in found.ranking]
    for c in order:
        table.add_column(f"{found.causes[c]}\n({found.units[c]})", justify="right")
    table.add_column("unexplained", justify="right")
    overall = found.overall
    table.add_row(
        "all", *(f"{overall[found.causes[c]]:.0%}" for c in order), f"{overall['unexplained']:.0%}"
    )
    table.add_section()
    for j in np.argsort(-found.weight):
        if np.isfinite(found.share[j]).all() and found.weight[j] > 0.005:
            cells = [_cause(found, int(j), c) for c in order]
            table.add_row(Text(found.joints[j]), *cells, f"{found.unexplained[j]:.0%}")
    loads = ", ".join(
        f"{mass:.2f} kg on {link}" for link, mass in found.loads.items() if mass >= 0.005
    )
    note = [Text(f"unmodelled load that would explain it: {loads}")] if loads else []
    for cause in dict.fromkeys(size.cause for size in found.sizes):
        told = ", ".join(str(size) for size in found.sizes if size.cause == cause)
        note.append(Text(f"{cause} that would explain it: {told}"))
    return Group(table, *note)


def _cause(found: Attribution, joint: int, cause: int) -> str:
    share = found.share[joint, cause]
    if share < 0.005:
        return "·"
    # Loads belong to links, starts and contacts to the robot: they are told below the table.
    if found.units[cause] == "kg" or found.causes[cause] in {size.cause for size in found.sizes}:
        return f"{share:.0%}"
    least = "≥ " if found.at_bound[joint, cause] else ""
    return f"{share:.0%} ({least}{_number(found.amplitude[joint, cause], 2)})"
