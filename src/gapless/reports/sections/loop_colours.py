"""The colours that the policies of a loop have in every picture of its page."""

from __future__ import annotations

from gapless.evaluation.typical_episode import REFERENCE
from gapless.reports.colours import written
from gapless.tracking.loop_folder import LoopFolder


def loop_colours(loop: LoopFolder) -> dict[str, str]:
    """The reference, and each policy by what it is called -> #rrggbb."""
    from gapless.reports.robot_scene import colour_of

    tracks = dict.fromkeys([REFERENCE, *loop.called.values()])
    return {name: written(colour_of(name, tracks)) for name in tracks}
