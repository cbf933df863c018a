"""The replay of a policy loop in 3D: the reference, the first policy and the last one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gapless.evaluation.typical_episode import REFERENCE
from gapless.reports.ghosts import solid_of
from gapless.reports.sections.loop_colours import loop_colours
from gapless.tracking.loop_folder import LoopFolder


def data(loop: LoopFolder) -> dict[str, Any]:
    """A static scene; rounds between the first and the last would only hide them."""
    from gapless.reports.robot_scene import static_scene

    clip, names, colours = loop.side_by_side(), list(loop.called.values()), loop_colours(loop)
    seen = dict.fromkeys((REFERENCE, names[0], names[-1]))
    clip = replace(clip, tracks={name: clip.tracks[name] for name in seen})
    return {
        "tracks": [{"name": name, "colour": colours[name]} for name in seen],
        "solid": solid_of(seen),
        "folder": str(loop.path),
        "scripts": {"html": static_scene(loop.robot, clip)},
    }
