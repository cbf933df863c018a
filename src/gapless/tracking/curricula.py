"""Curricula of a tracker: how far bodies may be off, and how much penalties count.

Both follow the mean length of episodes: where they last, the task becomes harder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SHORT, LONG = 40.0, 42.0
"""Mean lengths (control steps) below which a task becomes easier, above which harder: ASAP's."""
EPISODES = 1000.0
"""Over which lengths are averaged."""


@dataclass
class Curricula:
    """What tightens as episodes last; one training's, kept with its progress.

    ASAP changes them with every reset by 2.5e-5 and 1e-5, with thousands of environments; here
    they change with every control step of a batch, so that the number of environments says
    nothing: `speed` is what a step of all environments changes.

    Attributes:
        distance: of any body from its reference at which an episode ends, m.
        penalties: share of the penalties that counts.
        length: moving average of episode lengths, control steps.
        nearest: the least distance.
        farthest: the most.
        speed: relative change of the distance in a step; of the penalties twice that.
        target: length that counts as long; that of short motions is shorter.
    """

    distance: float = 1.5
    penalties: float = 0.1
    length: float = 0.0
    nearest: float = 0.3
    farthest: float = 2.0
    speed: float = 2e-4
    target: float = LONG

    def advance(self, ended: np.ndarray) -> None:
        """Take in the lengths of episodes that ended in a step, and change."""
        if len(ended):
            share = min(1.0, len(ended) / EPISODES)
            self.length += share * (float(np.mean(ended)) - self.length)
        easy = self.length > self.target
        hard = self.length < self.target * SHORT / LONG
        step = self.speed * (easy - hard)
        self.distance = float(np.clip(self.distance * (1 - step), self.nearest, self.farthest))
        self.penalties = float(np.clip(self.penalties * (1 + 2 * step), 0.0, 1.0))

    @property
    def soft(self) -> dict[str, float]:
        """Shares of ranges that are free of penalty: from 1.15 down to 0.95, of torques to 0.85."""
        left = 1 - self.penalties
        return {
            "position": 0.95 + 0.2 * left,
            "velocity": 0.95 + 0.2 * left,
            "torque": 0.85 + 0.3 * left,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """What a resumed training needs."""
        return {"curricula": np.array([self.distance, self.penalties, self.length])}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Inverse of `arrays`."""
        self.distance, self.penalties, self.length = map(float, arrays["curricula"])
