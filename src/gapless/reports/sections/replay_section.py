"""The replay in 3D: the real robot solid, the simulated ones as ghosts, with a time slider."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gapless.closing import Run
from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.sections.curves_section import worst_first


def data(run: Run) -> dict[str, Any] | None:
    """A static scene of the clip in which the nominal simulator is worst."""
    from gapless.reports.robot_scene import static_scene

    clips = run.replays
    if not clips:
        return None
    worst = _shown(worst_first(clips)[0])
    return {
        "title": worst.title,
        "horizon": worst.horizon,
        "tracks": list(worst.tracks),
        "scripts": {"html": static_scene(run.robot, worst)},
    }


def _shown(clip: SideBySide) -> SideBySide:
    """The real, the raw and the best robot: a third ghost would only hide them."""
    best = list(clip.tracks)[-1]
    return replace(clip, tracks={n: clip.tracks[n] for n in dict.fromkeys((REAL, "raw", best))})
