"""Students of a pendulum's trackers that are made in seconds."""

from __future__ import annotations

import numpy as np

from gapless.imitation import ImitateSettings
from gapless.motions import Motion
from pendulum import RATE

QUICKLY = ImitateSettings(
    rounds=1,
    samples=3000,
    updates=900,
    environments=16,
    hidden=(32, 32),
    batch=256,
    chunk=3,
)


def nods() -> Motion:
    """Less far out than `swings`, and faster."""
    time = np.arange(round(RATE) + 1) / RATE
    q = 1.0 + 0.15 * np.sin(2 * np.pi * time)
    return Motion("nods", ("swing",), RATE, q[:, None])
