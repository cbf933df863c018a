"""Progress of a PPO training: judged, kept, and taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from gapless.learning.adam_state import Arrays, adam_arrays, restore_adam, under
from gapless.learning.checkpoint import Checkpoint
from gapless.progress import Progress

KEEP_SECONDS = 10.0
"""Least seconds from one checkpoint to the next."""

JUDGED = 10
"""How often the actor is judged in a training."""

STAGE = "training"
JUDGEMENT = "choose"
"""The figure of an event that a new judgement gives."""

FACTS = ("iteration", "seconds", "judged", "error", "course")
"""Numbers of a checkpoint."""

Judge = Callable[[Arrays], float]
"""Error of an actor, by its arrays; less is better. It must not judge what is reported."""


class TaskMemory(Protocol):
    """What a task keeps beyond a round, such as a curriculum."""

    def arrays(self) -> Arrays:
        """All of it."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Inverse of `arrays`."""
        ...


@dataclass
class PpoProgress:
    """How far a training is, with everything that it needs to go on.

    Attributes:
        algorithm: actor, critic and Adam.
        snapshot: arrays of the actor as it is, which are judged and kept.
        iterations: after which it is done.
        limit: seconds of wall time after which it is done, too.
        error: of the best.
        iteration: that comes next.
        seconds: of wall time spent in iterations.
        judged: how often the actor was judged.
        course: iteration and error of each time.
        best: arrays of the best actor.
        memory: what the task keeps beyond a round.
    """

    algorithm: PPO
    snapshot: Callable[[], Arrays]
    iterations: int
    limit: float = np.inf
    error: float = np.inf
    iteration: int = 0
    seconds: float = 0.0
    judged: int = 0
    course: list[list[float]] = field(default_factory=list)
    memory: TaskMemory | None = None
    best: Arrays = field(init=False)
    _kept: float = field(init=False)

    def __post_init__(self) -> None:
        self.best, self._kept = self.snapshot(), time.monotonic()

    @property
    def done(self) -> float:
        """Share that is done, by iterations or by time."""
        return max(self.iteration / self.iterations, self.seconds / self.limit)

    def event(self, figures: dict[str, float]) -> Progress:
        """What a watch is told; where time ends the training, the iterations that it allows."""
        share, total, left = min(1.0, self.done), self.iterations, None
        if share:
            total = max(self.iteration, min(total, round(self.iteration / share)))
            left = self.seconds * (1 - share) / share
        return Progress(STAGE, self.iteration, total, figures, left)

    def judge(self, judge: Judge | None) -> dict[str, float]:
        """Judge the actor where it is time to, and keep the best; the last where nobody judges."""
        if judge is None:
            self.best = self.snapshot()
            return {}
        times = int(min(1.0, self.done) * JUDGED + 1e-9)
        if times == self.judged:
            return {}
        self.judged, now = times, self.snapshot()
        error = judge(now)
        if not error >= self.error:  # NaN where nothing judges: the last is kept
            self.best, self.error = now, error
        if np.isnan(error):
            return {}
        self.course.append([self.iteration, error])
        return {JUDGEMENT: error}

    def keep(self, checkpoint: Checkpoint, now: bool = False) -> None:
        """Write everything, where it is time to."""
        if not now and time.monotonic() - self._kept < KEEP_SECONDS:
            return
        algorithm, self._kept = self.algorithm, time.monotonic()
        arrays = {f"best/{k}": v for k, v in self.best.items()}
        for name, model in (("actor", algorithm.actor), ("critic", algorithm.critic)):
            arrays |= {f"{name}/{k}": v for k, v in arrays_of(model).items()}
        arrays |= adam_arrays(algorithm.optimizer)
        if self.memory is not None:
            arrays |= {f"memory/{k}": v for k, v in self.memory.arrays().items()}
        facts = {k: getattr(self, k) for k in FACTS} | {"rate": algorithm.learning_rate}
        checkpoint.keep(arrays, facts)

    def restore(self, checkpoint: Checkpoint) -> bool:
        """Go on from a checkpoint; False where there is none."""
        kept = checkpoint.load()
        if kept is None:
            return False
        arrays, facts = kept
        for name in FACTS:
            setattr(self, name, facts.get(name, getattr(self, name)))
        algorithm, self.best = self.algorithm, under("best/", arrays)
        for name, model in (("actor", algorithm.actor), ("critic", algorithm.critic)):
            found = under(f"{name}/", arrays)
            model.load_state_dict({k: torch.tensor(v) for k, v in found.items()})
        restore_adam(algorithm.optimizer, arrays)
        algorithm.learning_rate = facts["rate"]
        if self.memory is not None:
            self.memory.restore(under("memory/", arrays))
        return True


def arrays_of(model: torch.nn.Module) -> Arrays:
    """Environments of all that a model keeps, as named arrays."""
    return {k: v.detach().numpy().copy() for k, v in model.state_dict().items()}
