"""Environments of a robot between control steps: what the next step goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.worlds.actuators import Motors
from gapless.worlds.engine import PackedTrajectory


@dataclass
class Environments:
    """n environments, their memory included.

    Attributes:
        packed: (n, size) their states.
        models: one an environment, as its engine takes them.
        history: (n, H, J) targets that a delay still brings into force.
        late: (n, H) seconds of jitter of those.
        motors: what they remember; None where they remember nothing.
        chance: draws the jitter of each.
        diverged_at: (n,) seconds since the reset; NaN for healthy ones.
    """

    packed: np.ndarray
    models: list[Any]
    history: np.ndarray
    late: np.ndarray
    motors: Motors | None
    chance: list[np.random.Generator]
    diverged_at: np.ndarray

    @classmethod
    def none(cls, size: int, joints: int) -> Environments:
        """No environment at all, as before the first reset."""
        history = np.zeros((0, 0, joints))
        return cls(np.zeros((0, size)), [], history, np.zeros((0, 0)), None, [], np.zeros(0))

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def alive(self) -> np.ndarray:
        """(n,) True for those that did not diverge."""
        return np.isnan(self.diverged_at)

    def replace(self, chosen: np.ndarray, fresh: Environments) -> None:
        """Put fresh environments in place of the chosen ones (indices)."""
        self.packed[chosen] = fresh.packed
        self.history[chosen], self.late[chosen] = fresh.history, fresh.late
        self.diverged_at[chosen] = fresh.diverged_at
        if self.motors is not None and fresh.motors is not None:
            self.motors.replace(chosen, fresh.motors)
        for i, model, drawn in zip(chosen, fresh.models, fresh.chance, strict=True):
            self.models[i], self.chance[i] = model, drawn

    def place(self, packed: np.ndarray) -> None:
        """Move those that did not diverge to other states; their clocks go on."""
        packed[:, 0] = self.packed[:, 0]
        self.packed[self.alive] = packed[self.alive]

    def advance(self, played: PackedTrajectory, targets: np.ndarray, late: np.ndarray) -> None:
        """Take over one control step; an environment that diverged stays as it was.

        Args:
            played: what the engine made of it.
            targets: (n, 1, J) that were held.
            late: (n, H + 1) seconds of jitter, those of the history first.
        """
        fell = ~played.valid[:, 1] & self.alive
        self.diverged_at[fell] = self.packed[fell, 0]
        self.packed[self.alive] = played.packed[self.alive, 1]
        self.motors = played.motors
        self.history = np.concatenate([self.history, targets], axis=1)[:, 1:]
        self.late = late[:, 1:]


def earlier_targets(history: np.ndarray | None, q: np.ndarray, steps: int) -> np.ndarray:
    """(n, steps, J) the targets before a start; (n, J) its positions where none are known."""
    if history is None or not history.shape[1]:
        return np.repeat(q[:, None], steps, axis=1)
    missing = max(0, steps - history.shape[1])
    oldest = np.repeat(history[:, :1], missing, axis=1)
    return np.concatenate([oldest, history[:, -steps:]], axis=1)
