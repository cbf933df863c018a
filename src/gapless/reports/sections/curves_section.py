"""Curves: command, real and simulated positions of every joint, clip by clip."""

from __future__ import annotations

from typing import Any

import numpy as np

from gapless.closing import Run
from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.colours import COLOURS
from gapless.reports.figures import rounded

CLIPS, SAMPLES = 8, 700
"""Clips in the page and samples of each curve: more is only weight."""


def data(run: Run) -> dict[str, Any] | None:
    """Clips for the page's program; the reader chooses clip and joint."""
    clips = worst_first(run.replays)[:CLIPS]
    if not clips:
        return None
    return {
        "clips": [c.title for c in clips],
        "horizon": clips[0].horizon,
        "scripts": {
            "clips": [clip_curves(c) for c in clips],
            "colours": COLOURS,
            "against": REAL,
            "error": "simulated - real, rad",
        },
    }


def worst_first(clips: list[SideBySide]) -> list[SideBySide]:
    """Clips by the nominal simulator's error, the largest first."""
    return sorted(clips, key=lambda clip: -clip.mean_error("raw").mean())


def clip_curves(clip: SideBySide, against: str = REAL) -> dict[str, Any]:
    """What the page's program draws of a clip; errors are those against one of its tracks."""
    every = -(-len(clip.target) // SAMPLES)
    moved = [j for j in range(len(clip.joints)) if np.isfinite(clip.tracks[against].q[:, j]).any()]
    errors = {name: clip.mean_error(name, against) for name in clip.tracks if name != against}
    return {
        "time": rounded(clip.time[::every]),
        "joints": [
            {
                "name": clip.joints[j],
                "command": rounded(clip.target[::every, j]) if against == REAL else None,
                "tracks": {n: rounded(t.q[::every, j]) for n, t in clip.tracks.items()},
                "errors": {n: round(float(e[j]), 5) for n, e in errors.items()},
            }
            for j in moved
        ],
    }
