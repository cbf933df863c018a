"""How wrong a simulator is, as colours of links."""

from __future__ import annotations

import numpy as np

from gapless.measurement.side_by_side import REAL, SideBySide
from gapless.reports.colours import COLOURS, Colour, rgb
from gapless.reports.robot_scene import BODY

SHADES = 16
"""Steps of the colour scale, so that a link is repainted only when it matters."""
RED: Colour = rgb(COLOURS["raw"])


def scales_of(clip: SideBySide) -> dict[str, float]:
    """Simulator -> the error that is drawn red, rad; none where nothing was recorded."""
    if REAL not in clip.tracks:
        return {}
    return {name: scale_of(clip, name) for name in clip.tracks if name != REAL}


def scale_of(clip: SideBySide, simulator: str) -> float:
    """The error that is drawn red, rad: one that few samples of a clip exceed."""
    errors = np.abs(clip.error(simulator))
    known = errors[np.isfinite(errors)]
    return max(float(np.quantile(known, 0.98)), 1e-3) if len(known) else 1.0


def shade(share: float) -> Colour:
    """From the real robot's own colour to red, in steps."""
    step = round(min(abs(share), 1.0) * SHADES) / SHADES
    mixed = [round(a + step * (b - a)) for a, b in zip(BODY, RED, strict=True)]
    return mixed[0], mixed[1], mixed[2]


def worst_joint(clip: SideBySide, joints: tuple[str, ...]) -> str:
    """The joint that the first simulator of a clip gets most wrong; the first where none can."""
    simulators = [name for name in clip.tracks if name != REAL]
    known = [name for name in joints if name in clip.joints]
    if REAL not in clip.tracks or not simulators or not known:
        return joints[0]
    errors = clip.mean_error(simulators[0])
    return max(known, key=lambda name: errors[clip.joints.index(name)])
