"""`gradient`: learn a correction without reinforcement learning.

A good correction changes little of what the simulator does, so its slopes along each window are
enough: x[t+1] = x̄[t+1] + A[t] (x[t] - x̄[t]) + B[t] (Δ[t] - Δ̄[t]). The error over many steps is then
a function of the weights that torch differentiates, with no simulator in the loop. In every round
the windows are drawn and played anew, with the correction as it is, and linearised there; horizons
grow from round to round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from gapless.corrections.linearised.linearised_loss import LinearisedLoss, Noise, replay_loss
from gapless.corrections.linearised.replayed import Replayed, replayed
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.learner import Learner
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession
from gapless.learning.threads import torch_threads

KEEP_SECONDS = 10.0
"""Seconds from one checkpoint to the next."""


@dataclass(frozen=True)
class Gradient:
    """Settings of the trainer.

    Attributes:
        horizons: seconds of the windows of each round, as shares of the task's horizon.
        samples: control steps of a round, over all its windows.
        iterations: steps of Adam in each round.
        batch: windows of an iteration.
        rate: step size of Adam, falling to nothing in a round, and by half from round to round.
        stride: slopes are computed at every so many steps.
        velocity: weight of the velocity error against the position error, s².
        size: weight of the outputs, as shares of their bounds.
        outlier: errors above this (rad) count by their size, not by their square.
        noise: put on the inputs, as a share of their deviation; see `Noise`.
        threads: of torch; its tensors are small here, and more threads wait for each other.
    """

    horizons: tuple[float, ...] = (0.3, 0.6, 1.0)
    samples: int = 12000
    iterations: int = 300
    batch: int = 64
    rate: float = 2e-3
    stride: int = 5
    velocity: float = 0.003
    size: float = 1e-3
    outlier: float = 0.03
    noise: float = 0.1
    threads: int = 1

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """Rounds of drawing, playing, linearising, learning; the choosing motions keep the best."""
        with torch_threads(self.threads):
            return self._train(task, start, run)

    def _train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        learner = Learner(start, start, task.error(None), frozen=start.contract.frozen)
        learner.restore(run.checkpoint)
        run.begin(len(self.horizons) * self.iterations, self._done(learner))
        while learner.turn < len(self.horizons):
            if not learner.iteration:
                learner.begin(learner.turn)
            self._round(task, learner, run)
            now = learner.correction
            error = task.error(now)
            learner.judged(error)
            learner.begin(learner.turn + 1)
            learner.keep(run.checkpoint)
            run.tell(self._done(learner), {"choose": error}, now)
        return learner.best

    def _done(self, learner: Learner) -> int:
        """Iterations of all rounds so far."""
        return learner.turn * self.iterations + learner.iteration

    def _round(self, task: Task, learner: Learner, run: TrainingSession) -> None:
        data = self._data(task, learner.start, learner.turn)
        loss = LinearisedLoss(self.velocity, self.size, self.outlier)
        with torch.no_grad():
            scale = float(loss.of_error(data.error, data.weight, data.base_weight).mean())
        network, kept = learner.start.network, time.monotonic()
        rate = self.rate * 0.5**learner.turn
        while learner.iteration < self.iterations:
            chance = self._chance(task.seed, learner)
            some = torch.randperm(len(data), generator=chance)[: self.batch]
            noise = Noise(self.noise, chance)
            found = replay_loss(network, learner.weights, data.of(some), scale, loss, noise)
            figure = learner.step(found.mean(), rate, self.iterations)
            run.tell(self._done(learner), {"loss": figure})
            if time.monotonic() - kept > KEEP_SECONDS:
                learner.keep(run.checkpoint)
                kept = time.monotonic()

    def _chance(self, seed: int, learner: Learner) -> torch.Generator:
        """What an iteration draws: the same after a stop."""
        key = (seed * 1009 + learner.turn) * 100_003 + learner.iteration
        return torch.Generator().manual_seed(key)

    def _data(self, task: Task, correction: Correction, turn: int) -> Replayed:
        seconds = self.horizons[turn] * task.horizon
        steps = max(2, round(seconds * task.world.rate))
        windows = task.windows(steps / task.world.rate, max(8, self.samples // steps), turn)
        return replayed(task.world, windows, correction, min(self.stride, max(1, steps // 2)))
