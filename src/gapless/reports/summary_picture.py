"""One picture of a run for a README or a slide: errors by payload, and the joint that was worst."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_bytes_atomic
from gapless.closing import Run
from gapless.measurement.gap_plots import require_matplotlib
from gapless.measurement.side_by_side import SideBySide
from gapless.reports.colours import COLOURS


def summary_picture(run: Run, path: str | Path) -> Path:
    """Draw a finished run to a PNG; complete or absent."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.35])
    _bars(left, run.summary)
    clips = run.replays
    if clips:
        _curves(right, max(clips, key=lambda clip: clip.mean_error("raw").max()))
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=110, format="png")
    write_bytes_atomic(path, buffer.getvalue())
    return Path(path)


def _bars(panel: Any, summary: dict[str, Any]) -> None:
    rows = {n: r for n, r in summary["rows"].items() if r["kept"]}
    loads = rows["raw"]["payloads"]
    labels = ["all", *(loads if len(loads) > 1 else ())]
    width = 0.8 / len(rows)
    for k, (name, row) in enumerate(rows.items()):
        values = [row["error"], *(row["payloads"].get(load) or np.nan for load in labels[1:])]
        at = np.arange(len(labels)) + (k - (len(rows) - 1) / 2) * width
        panel.bar(at, values, width, color=COLOURS[name], label=name)
    panel.set_xticks(np.arange(len(labels)), labels)
    panel.set_ylabel("rad")
    panel.set_title(f"replay error over {summary['horizon']:g} s, held-out motions", fontsize=10)
    panel.legend(fontsize=8, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)


def _curves(panel: Any, clip: SideBySide) -> None:
    joint = int(clip.mean_error("raw").argmax())
    panel.plot(clip.time, clip.target[:, joint], ":", color=COLOURS["command"], label="command")
    for name, track in clip.tracks.items():
        panel.plot(clip.time, track.q[:, joint], color=COLOURS[name], label=name, lw=1.5)
    panel.set_title(f"{clip.joints[joint]}, {clip.title}", fontsize=10)
    panel.set_xlabel("seconds")
    panel.set_ylabel("position, rad")
    panel.legend(fontsize=8, frameon=False, ncols=2)
    panel.spines[["top", "right"]].set_visible(False)
