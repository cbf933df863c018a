"""The table of transitions, as the docs show it."""

from __future__ import annotations

from gapless.deployment.policy_stages import QUICKLY, SLOWLY, TRACK, WALK
from gapless.deployment.stage_plan import WORDS
from gapless.deployment.transitions import ALLOWED, DAMP

ENTRY = {
    DAMP: "from anywhere, at once",
    "zero": f"{SLOWLY:g} s of blend",
    "stand": f"{SLOWLY:g} s of blend; base within {WALK['tilt']:g} rad of upright",
    "locomotion": f"{QUICKLY:g} s of blend; joints within {WALK['distance']:g} rad of the stance, "
    f"below {WALK['speed']:g} rad/s, base within {WALK['tilt']:g} rad",
    "tracking": f"{QUICKLY:g} s of blend; joints within {TRACK['distance']:g} rad of the motion's "
    f"first frame, below {TRACK['speed']:g} rad/s, base within {TRACK['tilt']:g} rad",
}
"""Stage -> what a robot must be like to enter it."""


def transition_table() -> str:
    """Every stage, what a person calls it, where it leads and how it is entered; as Markdown."""
    lines = ["| stage | said | leads to | entered |", "|---|---|---|---|"]
    said = {stage: word for word, stage in WORDS.items()}
    for stage, after in ALLOWED.items():
        lines.append(f"| {stage} | `{said[stage]}` | {', '.join(after)} | {ENTRY[stage]} |")
    return "\n".join(lines)
