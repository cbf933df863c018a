"""Curves of a policy loop: how far each policy is from the motion, and every joint, over time."""

from __future__ import annotations

from typing import Any

from gapless.evaluation.typical_episode import REFERENCE
from gapless.measurement.side_by_side import SideBySide
from gapless.reports.figures import Figure, over_time, rounded
from gapless.reports.sections.curves_section import SAMPLES, clip_curves
from gapless.reports.sections.loop_colours import loop_colours
from gapless.tracking.loop_folder import LoopFolder, load_episode


def data(loop: LoopFolder) -> dict[str, Any]:
    """The typical episode of each policy; the reader chooses a joint."""
    clip, colours = loop.side_by_side(), loop_colours(loop)
    told = {called: load_episode(loop.path, policy).name for policy, called in loop.called.items()}
    return {
        "episodes": [{"called": n, "colour": colours[n], "what": what} for n, what in told.items()],
        "figures": {"loop-errors": _errors(clip, colours)},
        "scripts": {
            "clips": [clip_curves(clip, REFERENCE)],
            "colours": colours,
            "against": REFERENCE,
            "error": "robot - reference, rad",
        },
    }


def _errors(clip: SideBySide, colours: dict[str, str]) -> Figure:
    every = -(-len(clip.target) // SAMPLES)
    tracks = {n: t.distance for n, t in clip.tracks.items() if t.distance is not None}
    series = {name: values[::every] for name, values in tracks.items()}
    return over_time(rounded(clip.time[::every]), series, colours, "mm from the motion")
