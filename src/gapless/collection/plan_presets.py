"""Plans by name."""

from __future__ import annotations

from gapless.collection.plan import CollectionPlan
from gapless.errors import unknown

SIMLIFTER_HOURS = 28.46
"""Robot time of the published SimLifter dataset."""

PRESETS: dict[str, CollectionPlan] = {
    # 28.46 h in 11,198 sequences are 9.15 s each. The ten joints are the shoulders, the elbows
    # and the wrist rolls; weights of 0 to 3 kg hang on both hands.
    "simlifter": CollectionPlan(
        robot="h1_2",
        mount="fixed",
        lock=(
            "legs",
            "waist",
            "left_wrist_pitch_joint",
            "left_wrist_yaw_joint",
            "right_wrist_pitch_joint",
            "right_wrist_yaw_joint",
        ),
        levels=("per_joint", "upper_body", "whole_body"),
        seconds=9.15,
        hours=SIMLIFTER_HOURS,
        payloads=(0.0, 1.0, 2.0, 3.0),
        payload_links=("hands",),
        rates=(50, 100),
        units=(1, 2, 3),
        held_out=(4,),
        repeats=3,
    )
}
"""Name -> plan."""


def preset(name: str) -> CollectionPlan:
    """The plan of a name."""
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    return PRESETS[name]
