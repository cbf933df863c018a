"""Progress of a PPO training: judged, kept, and taken up again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.adam_state import adam_arrays, restore_adam, under
from gapless.corrections.training.learner import NotFiniteError
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import STAGE
from gapless.learning.checkpoint import Checkpoint
from gapless.progress import Progress

KEEP_SECONDS = 10.0
"""Least seconds from one checkpoint to the next."""

JUDGED = 10
"""How often the validation recordings are replayed in a training."""

FACTS = ("iteration", "seconds", "judged", "error")
"""Numbers of a checkpoint."""


@dataclass
class PpoProgress:
    """How far a training is, with everything that it needs to go on.

    Attributes:
        start: the correction before training, of one network.
        algorithm: actor, critic and Adam.
        iterations: after which it is done.
        limit: seconds of wall time after which it is done, too.
        error: of the best, rad.
        iteration: that comes next.
        seconds: of wall time spent in iterations.
        judged: how often the validation recordings were replayed.
    """

    start: Correction
    algorithm: PPO
    iterations: int
    limit: float
    error: float = np.inf
    iteration: int = 0
    seconds: float = 0.0
    judged: int = 0
    best: Correction = field(init=False)
    _kept: float = field(init=False)

    def __post_init__(self) -> None:
        self.best, self._kept = self.start, time.monotonic()

    @property
    def done(self) -> float:
        """Share that is done, by iterations or by time."""
        return max(self.iteration / self.iterations, self.seconds / self.limit)

    @property
    def correction(self) -> Correction:
        """The correction with the weights as they are."""
        return self.start.with_weights(self.algorithm.actor.arrays())  # type: ignore[operator]

    def event(self, figures: dict[str, float]) -> Progress:
        """What a watch is told; where time ends the training, the iterations that it allows."""
        share, total, left = min(1.0, self.done), self.iterations, None
        if share:
            total = max(self.iteration, min(total, round(self.iteration / share)))
            left = self.seconds * (1 - share) / share
        return Progress(STAGE, self.iteration, total, figures, left)

    def judge(self, task: Task) -> dict[str, float]:
        """Replay the validation recordings where it is time to, and keep the best."""
        times = int(min(1.0, self.done) * JUDGED + 1e-9)
        if times == self.judged:
            return {}
        self.judged, now = times, self.correction
        error = task.error(now)
        if error < self.error:
            self.best, self.error = now, error
        return {"validation": error}

    def refuse_not_finite(self, figures: dict[str, float]) -> None:
        """Stop where a figure or a weight is no number."""
        named = self.algorithm.actor.named_parameters()
        lost = [k for k, v in figures.items() if not np.isfinite(v)]
        lost += [k for k, v in named if not bool(torch.isfinite(v).all())]
        if lost:
            told = ", ".join(f"{k} {v:.3g}" for k, v in figures.items())
            raise NotFiniteError(
                f"{', '.join(lost[:3])} is not finite in iteration {self.iteration} ({told}). The "
                "last good weights are kept: use a smaller rate or noise, or check the recordings"
            )

    def keep(self, checkpoint: Checkpoint, now: bool = False) -> None:
        """Write everything, where it is time to."""
        if not now and time.monotonic() - self._kept < KEEP_SECONDS:
            return
        algorithm, self._kept = self.algorithm, time.monotonic()
        arrays = {f"best/{k}": v for k, v in self.best.weights.items()}
        for name, model in (("actor", algorithm.actor), ("critic", algorithm.critic)):
            arrays |= {f"{name}/{k}": v.numpy() for k, v in model.state_dict().items()}
        arrays |= adam_arrays(algorithm.optimizer)
        facts = {k: getattr(self, k) for k in FACTS} | {"rate": algorithm.learning_rate}
        checkpoint.keep(arrays, facts)

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go on from a checkpoint; False where there is none."""
        kept = checkpoint.load()
        if kept is None:
            return False
        arrays, facts = kept
        for name in FACTS:
            setattr(self, name, facts[name])
        algorithm = self.algorithm
        self.best = self.start.with_weights(under("best/", arrays))
        for name, model in (("actor", algorithm.actor), ("critic", algorithm.critic)):
            found = under(f"{name}/", arrays)
            model.load_state_dict({k: torch.tensor(v) for k, v in found.items()})
        restore_adam(algorithm.optimizer, arrays)
        algorithm.learning_rate = facts["rate"]
        return True
