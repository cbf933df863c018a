"""Regression: networks learn outputs that are known at every step of sequences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import torch

from gapless.corrections.linearised.one_step import OutputTargets
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.network import Network
from gapless.corrections.runtime.signals import Signals
from gapless.corrections.training.learner import Learner
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession

Tensor = torch.Tensor

KEEP_SECONDS = 10.0
"""Seconds from one checkpoint to the next."""

OUTLIER = 3.0
"""Misses above this many standard deviations count by their size, not by their square."""


@dataclass(frozen=True)
class Lesson:
    """Tensors of n sequences of T steps, time first.

    Attributes:
        inputs: (T, n, width) of the network, by name.
        output: (T, n, K) what it should give.
        weight: (T, n, K) how much that counts.
        scale: (K,) standard deviation of the outputs.
        clipped: share of the outputs that were beyond the bound, and cut there.
    """

    inputs: dict[str, Tensor]
    output: Tensor
    weight: Tensor
    scale: Tensor
    clipped: float

    @classmethod
    def of(cls, signals: Signals, targets: OutputTargets, start: Correction) -> Lesson:
        """From (n, T, d) signals and targets, within the bounds of a correction."""
        bound, used = np.array(start.contract.bound), targets.weight > 0
        beyond = used & (np.abs(targets.output) > bound)
        output = np.where(used, np.clip(targets.output, -bound, bound), 0.0)
        spread = np.sqrt((output**2).sum((0, 1)) / np.maximum(used.sum((0, 1)), 1))
        return cls(
            inputs_of(start.network, signals, output),
            _tensor(np.swapaxes(output, 0, 1)),
            _tensor(np.swapaxes(targets.weight, 0, 1)),
            _tensor(np.maximum(spread, 1e-3 * bound)),
            float(beyond.sum() / max(1, used.sum())),
        )

    def some(self, sequences: int, chance: torch.Generator, apart: bool) -> Lesson:
        """As many steps as some sequences have: those sequences, or steps from anywhere."""
        steps, known = self.output.shape[:2]
        if not apart:
            which = torch.randperm(known, generator=chance)[:sequences]
            return self._picked(lambda x: x[:, which])
        which = torch.randint(steps * known, (steps * min(sequences, known),), generator=chance)
        return self._picked(lambda x: x.flatten(0, 1)[which][None])

    def noisy(self, share: float, weights: dict[str, Tensor], chance: torch.Generator) -> Lesson:
        """The same with noise on the inputs, as a share of their deviation."""
        found = {
            k: x + share * weights[f"{k}.deviation"] * torch.randn(x.shape, generator=chance)
            for k, x in self.inputs.items()
        }
        return replace(self, inputs=found)

    def _picked(self, pick: Callable[[Tensor], Tensor]) -> Lesson:
        return Lesson(
            {k: pick(v) for k, v in self.inputs.items()},
            pick(self.output),
            pick(self.weight),
            self.scale,
            self.clipped,
        )


def inputs_of(network: Network, signals: Signals, output: np.ndarray) -> dict[str, Tensor]:
    """(T, n, width) inputs of a network that gave these (n, T, K) outputs all along."""
    memory, found = None, []
    for t in range(output.shape[1]):
        now = {k: v[:, min(t, v.shape[1] - 1)] for k, v in signals.items()}
        full = network.completed(now, memory)
        memory = memory or network.begun(full, len(output))
        found.append(network.gathered(full, memory))
        memory = memory.after(full, output[:, t], memory.hidden)
    return {k: _tensor(np.stack([f[k] for f in found])) for k in found[0]}


@dataclass(frozen=True)
class Regression:
    """How a lesson is learned.

    Attributes:
        iterations: steps of Adam in a round.
        batch: sequences of an iteration; where a network has no memory, as many steps.
        rate: step size of Adam, falling to nothing in the round.
        noise: put on the inputs, as a share of their deviation. Without it a network finds in
            their history the very accelerations that the outputs were computed from, and in use
            feeds them back.
    """

    iterations: int
    batch: int
    rate: float
    noise: float = 0.0

    def learn(
        self, learner: Learner, lesson: Lesson, seed: int, run: TrainingSession, earlier: int
    ) -> None:
        """The rest of a learner's round; `earlier` rounds had so many iterations."""
        network, kept = learner.start.network, time.monotonic()
        apart = network.model.hidden(1, 1) is None
        while learner.iteration < self.iterations:
            chance = _chance(seed, learner)
            some = lesson.some(self.batch, chance, apart)
            some = some.noisy(self.noise, learner.weights, chance)
            loss = regression_loss(network, learner.weights, some).mean()
            figure = learner.step(loss, self.rate, self.iterations)
            figures = {"loss": figure, "clipped": lesson.clipped}
            run.tell(earlier + learner.iteration, figures)
            if time.monotonic() - kept > KEEP_SECONDS:
                learner.keep(run.checkpoint)
                kept = time.monotonic()


def in_rounds(
    task: Task,
    start: Correction,
    run: TrainingSession,
    rounds: Sequence[Regression],
    lesson: Callable[[Correction, int], Lesson],
) -> Correction:
    """Learn round after round, each from a lesson of its own; the choosing motions keep the best.

    Args:
        task: gives what chooses and the seed.
        start: where the first round starts.
        run: who watches, and where progress is kept.
        rounds: how each is learned.
        lesson: of the correction at the start of a round, and its number.
    """
    learner = Learner(start, start, task.error(None), frozen=start.contract.frozen)
    learner.restore(run.checkpoint)
    ends = [0, *accumulate(r.iterations for r in rounds)]
    run.begin(ends[-1], ends[learner.turn] + learner.iteration)
    while learner.turn < len(rounds):
        if not learner.iteration:
            learner.begin(learner.turn)
        found = lesson(learner.start, learner.turn)
        rounds[learner.turn].learn(learner, found, task.seed, run, ends[learner.turn])
        now = learner.correction
        error = task.error(now)
        learner.judged(error)
        learner.begin(learner.turn + 1)
        learner.keep(run.checkpoint)
        run.tell(ends[learner.turn], {"choose": error}, now)
    return learner.best


def regression_loss(network: Network, weights: dict[str, Tensor], lesson: Lesson) -> Tensor:
    """(members,) mean miss over all steps, relative to the size of the outputs."""
    steps, environments = lesson.output.shape[:2]
    members = network.contract.members
    begun = network.model.hidden(environments, members)
    hidden = None if begun is None else _tensor(begun)
    given = network.normalised(weights, lesson.inputs)
    total = lesson.output.new_zeros(members)
    for t in range(steps):
        raw, hidden = network.model(weights, {k: v[t] for k, v in given.items()}, hidden)
        miss = (network.bounded(raw) - lesson.output[t]) / lesson.scale
        total = total + (lesson.weight[t] * _robust(miss)).sum((-1, -2))
    return total / lesson.weight.sum().clamp(min=1.0)


def _robust(miss: Tensor) -> Tensor:
    return 2 * OUTLIER**2 * ((1 + (miss / OUTLIER) ** 2).sqrt() - 1)


def _chance(seed: int, learner: Learner) -> torch.Generator:
    """Chance of an iteration: the same after a stop."""
    key = (seed * 1009 + learner.turn) * 100_003 + learner.iteration
    return torch.Generator().manual_seed(key)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32)
