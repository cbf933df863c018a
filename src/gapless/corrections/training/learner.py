"""Learner: weights under Adam, with everything a stopped training needs to go on as if it had not
been stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch

from gapless.corrections.runtime.correction import Correction
from gapless.learning.adam_state import adam_arrays, restore_adam, under
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.not_finite import NotFiniteError

FIXED = (".mean", ".deviation")
"""Endings of the weights that are normalisation, not learned."""

STEEPEST = 1.0
"""Gradients longer than this are cut."""


@dataclass
class Learner:
    """Weights that learn.

    Attributes:
        start: the correction as it was at the start of the round.
        best: the best so far, by the choosing motions.
        error: of the best, rad.
        turn: round.
        iteration: within the round.
        frozen: beginnings of the names of weights that stay.
    """

    start: Correction
    best: Correction
    error: float
    turn: int = 0
    iteration: int = 0
    frozen: tuple[str, ...] = ()
    weights: dict[str, torch.Tensor] = field(init=False)
    _adam: torch.optim.Adam = field(init=False)

    def __post_init__(self) -> None:
        self._load(self.start.weights)

    def _load(self, weights: dict[str, np.ndarray]) -> None:
        # In one order always: Adam's moments and the gradient's norm go by it, after a stop too.
        self.weights = {
            name: torch.tensor(value, requires_grad=self._learns(name))
            for name, value in sorted(weights.items())
        }
        self._adam = torch.optim.Adam([w for w in self.weights.values() if w.requires_grad])

    def _learns(self, name: str) -> bool:
        return not name.endswith(FIXED) and not name.startswith(self.frozen or ("\0",))

    @property
    def correction(self) -> Correction:
        """The correction with the weights as they are."""
        return self.start.with_weights(
            {k: v.detach().numpy().copy() for k, v in self.weights.items()}
        )

    def begin(self, turn: int) -> None:
        """Begin a round: Adam forgets, the weights stay."""
        self.turn, self.iteration = turn, 0
        self.start = self.correction
        self._load(self.start.weights)

    def step(self, loss: torch.Tensor, rate: float, total: int) -> float:
        """One step of Adam; the rate falls to nothing over `total` iterations."""
        if not torch.isfinite(loss):
            sizes = {k: float(v.detach().abs().max()) for k, v in self.weights.items()}
            largest = max(sizes, key=lambda k: sizes[k])
            raise NotFiniteError(
                f"the loss is {loss.item()} in round {self.turn + 1}, iteration {self.iteration}; "
                f"the largest weight is {sizes[largest]:.3g} ({largest}). The last good weights "
                "are kept: use a smaller rate, a shorter horizon, or check the recordings"
            )
        self._adam.zero_grad()
        loss.backward()
        learned = [w for w in self.weights.values() if w.requires_grad]
        torch.nn.utils.clip_grad_norm_(learned, STEEPEST)
        share = 0.5 * (1 + math.cos(math.pi * self.iteration / total))
        for group in self._adam.param_groups:
            group["lr"] = rate * share
        self._adam.step()
        self.iteration += 1
        return float(loss.detach())

    def judged(self, error: float) -> None:
        """Keep the weights as the best where their error is the smallest, or nothing chooses."""
        if not error >= self.error:
            self.best, self.error = self.correction, error

    def keep(self, checkpoint: Checkpoint) -> None:
        """Write everything."""
        arrays = {f"now/{k}": v.detach().numpy() for k, v in self.weights.items()}
        arrays |= {f"start/{k}": v for k, v in self.start.weights.items()}
        arrays |= {f"best/{k}": v for k, v in self.best.weights.items()}
        arrays |= adam_arrays(self._adam)
        facts = {"turn": self.turn, "iteration": self.iteration, "error": self.error}
        checkpoint.keep(arrays, facts)

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go on from a checkpoint; False where there is none."""
        kept = checkpoint.load()
        if kept is None:
            return False
        arrays, facts = kept
        self.turn, self.iteration = facts["turn"], facts["iteration"]
        self.error = facts["error"]
        self._load(under("now/", arrays))
        self.start = self.start.with_weights(under("start/", arrays))
        self.best = self.best.with_weights(under("best/", arrays))
        restore_adam(self._adam, arrays)
        return True
