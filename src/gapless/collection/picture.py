"""The picture of a card: how far each joint moved, and how long what was carried, on which unit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_bytes_atomic
from gapless.recordings.dataset import Dataset
from gapless.robots import Robot

RECORDINGS, SAMPLES, DOTS = 150, 6000, 350
"""Recordings that are read, samples of each joint in a violin, and how many show as dots."""
CLOUD, RAIN, MEDIAN = "#7aa6c2", "#999999", "#d62728"


@dataclass(frozen=True)
class Amounts:
    """Robot hours by payload and by unit."""

    payload: dict[str, float]
    unit: dict[str, float]


def draw(
    datasets: Sequence[Dataset], robot: Robot, amounts: Amounts, path: Path, seed: int
) -> None:
    """Draw a rain-cloud of every joint's positions, and bars of the hours.

    Args:
        datasets: that positions are sampled from.
        robot: gives joint limits.
        amounts: hours to show.
        path: of the PNG; complete or absent.
        seed: of the samples.
    """
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    values, names = _sampled(datasets, rng), robot.joints.names
    figure = Figure(figsize=(max(9.0, 1.15 * len(names)), 9.0), layout="constrained")
    ranges, bars = figure.subplots(2, 1, height_ratios=[3.2, 1])
    bars.set_visible(False)
    left, right = bars.get_subplotspec().subgridspec(1, 2).subplots()
    _clouds(ranges, values, robot, rng)
    _bars(left, amounts.payload, "payload on each link")
    _bars(right, amounts.unit, "unit")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, format="png")
    write_bytes_atomic(path, buffer.getvalue())


def _sampled(datasets: Sequence[Dataset], rng: np.random.Generator) -> np.ndarray:
    """(n, J) positions of random frames of random recordings."""
    places = [(data, i) for data in datasets for i in range(len(data))]
    chosen = rng.choice(len(places), min(RECORDINGS, len(places)), replace=False)
    q = np.concatenate([places[i][0][places[i][1]].q for i in sorted(chosen)])
    return q[rng.choice(len(q), min(SAMPLES, len(q)), replace=False)]


def _clouds(panel: Any, values: np.ndarray, robot: Robot, rng: np.random.Generator) -> None:
    """Dots to the left, a box in the middle, a violin to the right, limits as thin marks."""
    at = np.arange(values.shape[1])
    moved = np.ptp(values, axis=0) > 1e-9
    if moved.any():  # a joint that never moved has no density
        violins = panel.violinplot(
            values[:, moved], at[moved] + 0.12, widths=0.66, side="high", showextrema=False
        )
        for body in violins["bodies"]:
            body.set(facecolor=CLOUD, edgecolor="none", alpha=0.9)
    dots = values[:DOTS]
    spread = at - 0.24 + rng.uniform(-0.11, 0.11, dots.shape)
    panel.scatter(spread, dots, s=2.5, color=RAIN, alpha=0.6, linewidths=0)
    panel.boxplot(
        values,
        positions=at,
        widths=0.13,
        showfliers=False,
        medianprops={"color": MEDIAN, "linewidth": 1.8},
        manage_ticks=False,
    )
    for edge in (robot.joints.lower, robot.joints.upper):
        panel.hlines(np.where(np.isfinite(edge), edge, np.nan), at - 0.38, at + 0.45, "k", lw=0.8)
    panel.set_xticks(at, [_short(name) for name in robot.joints.names], fontsize=9)
    panel.set_ylabel("joint position [rad]")
    panel.set_title(
        "Joint ranges: samples (grey), box with median (red), density; joint limits (black)"
    )
    panel.grid(axis="y", alpha=0.25)


def _short(name: str) -> str:
    """One word a line, so that names of neighbours do not overlap."""
    return name.removesuffix("_joint").replace("_", "\n")


def _bars(panel: Any, hours: dict[str, float], what: str) -> None:
    drawn = panel.bar(list(hours), list(hours.values()), color=CLOUD, width=0.6)
    panel.bar_label(drawn, fmt="%.2f", fontsize=8)
    panel.margins(y=0.15)
    panel.set_ylabel("robot hours")
    panel.set_title(f"Hours by {what}", fontsize=10)
