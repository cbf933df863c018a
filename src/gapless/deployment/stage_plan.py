"""StagePlan: what an unattended run does, stage after stage, as one line of text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.deployment.transitions import ALLOWED, DAMP
from gapless.errors import DataError, unknown

WORDS = {
    "zero": "zero",
    "stand": "stand",
    "walk": "locomotion",
    "track": "tracking",
    "damp": DAMP,
}
"""What a person says -> the stage."""
SECONDS = 2.0
"""Of a stage that does not say how long; a tracker plays its motion to the end."""
LOWER = "lower"
"""Word of a plan: from here on the robot is on its feet, and recordings count."""
FORM = 'STAGE [SECONDS [VX VY WZ]], ...; e.g. "stand 3, walk 4, lower, walk 5 0.5 0 0, track, damp"'


@dataclass(frozen=True)
class PlanStep:
    """One stage of a plan.

    Attributes:
        stage: see `transitions.ALLOWED`.
        seconds: in it, from when nothing of the stage before is left; None is to its own end.
        velocity: that is asked of a walker: forwards, to the left, m/s; turning left, rad/s.
    """

    stage: str
    seconds: float | None
    velocity: tuple[float, ...] = (0.0, 0.0, 0.0)

    @property
    def lowers(self) -> bool:
        """Whether it only says that the robot is on its feet now."""
        return self.stage == LOWER


def read_plan(text: str) -> tuple[PlanStep, ...]:
    """The steps of a plan; damping ends it, said or not."""
    steps = [_step(part) for part in text.split(",")]
    if steps[-1].stage != DAMP:
        steps.append(PlanStep(DAMP, SECONDS / 2))
    return tuple(steps)


def stage_of(word: str) -> str:
    """The stage that a person means; stages' own names are understood, too."""
    if word in WORDS.values():
        return word
    if word not in WORDS:
        raise unknown("stage", word, WORDS)
    return WORDS[word]


def asked_of(stage: str, lowered: bool, velocity: np.ndarray) -> np.ndarray:
    """(2 + C,) what is asked now, as numbers for a recorder."""
    return np.array([list(ALLOWED).index(stage), float(lowered), *velocity])


def asked_in_words(asked: np.ndarray) -> str:
    """The same as a plan says it; the velocity only of a walker."""
    stage = list(ALLOWED)[int(asked[0])]
    word = next(word for word, own in WORDS.items() if own == stage)
    numbers = [f"{number:g}" for number in asked[2:]] if stage == "locomotion" else []
    return " ".join([word, *numbers])


def _step(part: str) -> PlanStep:
    word, *numbers = part.split() or [""]
    if word == LOWER and not numbers:
        return PlanStep(LOWER, 0.0)
    stage = stage_of(word)
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        raise DataError(f"step {part.strip()!r} is not understood; expected {FORM}") from None
    if len(values) not in (0, 1, 4) or (values and not 0 < values[0] < float("inf")):
        raise DataError(f"step {part.strip()!r} is not understood; expected {FORM}")
    own = None if stage == "tracking" else SECONDS
    if len(values) < 4:
        return PlanStep(stage, values[0] if values else own)
    return PlanStep(stage, values[0], tuple(values[1:]))
