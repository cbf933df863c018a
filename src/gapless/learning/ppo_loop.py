"""PpoLoop: rsl_rl's PPO in rounds that a stop between them does not change.

All episodes begin anew with every round, and everything that is drawn depends on the seed and the
iteration: a training that was stopped goes on to the same result, bit for bit.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from tensordict import TensorDict

from gapless.learning.adam_state import Arrays
from gapless.learning.checkpoint import Checkpoint
from gapless.learning.not_finite import refuse_not_finite
from gapless.learning.ppo_progress import Judge, PpoProgress, TaskMemory, arrays_of
from gapless.progress import Progress, Watch

ROUND = 10
"""Iterations of a round."""

SEEDS = 1_000_003
"""Iterations of one seed draw nothing that those of another draw."""


class RoundEnv(Protocol):
    """An environment of rsl_rl whose episodes can begin anew, such as `WorldVecEnv`."""

    def begin(self, draw: int) -> TensorDict:
        """Begin all episodes; everything after depends on `draw` alone."""
        ...

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """See rsl_rl's `VecEnv`."""
        ...


class PpoLoop:
    """Collect, learn, judge and keep until iterations or seconds are used up.

    Args:
        env: environments.
        algorithm: rsl_rl's PPO; see `PpoSettings.algorithm`.
        iterations: of collecting and learning.
        seconds: wall time after which it ends early; None is as long as it takes.
        judge: error of an actor on what chooses; the best is kept. None keeps the last.
        snapshot: arrays of the actor that are judged and kept; all that it keeps by default.
        seed: of everything drawn.
        round_length: iterations of a round.
        memory: what the task keeps beyond a round; None is nothing.
        warm_up: iterations in which only the critic learns, for an actor that is good already.

    Example:
        actor = settings.actor_of(env, ["policy"], (256, 128), noise=0.5, seed=0)
        critic = settings.critic_of(env, ["policy", "privileged"], seed=0)
        loop = PpoLoop(env, settings.algorithm(env, actor, critic), 500, judge=judge)
        best = loop.run(checkpoint, watch)
    """

    def __init__(
        self,
        env: RoundEnv,
        algorithm: PPO,
        iterations: int,
        seconds: float | None = None,
        judge: Judge | None = None,
        snapshot: Callable[[], Arrays] | None = None,
        seed: int = 0,
        round_length: int = ROUND,
        memory: TaskMemory | None = None,
        warm_up: int = 0,
    ) -> None:
        self.env, self.algorithm, self.judge, self.seed = env, algorithm, judge, seed
        self.round_length, self.warm_up = round_length, warm_up
        snapshot = snapshot or (lambda: arrays_of(algorithm.actor))
        limit = seconds or np.inf
        self.progress = PpoProgress(algorithm, snapshot, iterations, limit, memory=memory)

    def run(self, checkpoint: Checkpoint | None = None, watch: Watch | None = None) -> Arrays:
        """Train to the end, from a checkpoint where there is one; the arrays of the best actor.

        Whatever `watch` raises stops it; the checkpoint is whole at every moment.
        """
        progress, kept = self.progress, checkpoint or Checkpoint(None)
        tell = watch or _nobody
        if not progress.restore(kept) and self.judge is not None:
            progress.error = self.judge(progress.best)
        while progress.done < 1:
            self._round(tell)
            figures = progress.judge(self.judge)
            progress.keep(kept, now=bool(figures))
            if figures:
                tell(progress.event(figures))
        return progress.best

    def _round(self, tell: Watch) -> None:
        progress = self.progress
        obs = self.env.begin(progress.iteration // self.round_length)
        self.algorithm.actor.reset()
        self.algorithm.critic.reset()
        for _ in range(self.round_length):
            began = time.monotonic()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.seed * SEEDS + progress.iteration)
                obs, figures = self._iteration(obs)
            progress.iteration += 1
            progress.seconds += time.monotonic() - began
            tell(progress.event(figures))
            if progress.done >= 1:
                return

    def _iteration(self, obs: TensorDict) -> tuple[TensorDict, dict[str, float]]:
        """Collect steps and learn from them."""
        algorithm, iteration = self.algorithm, self.progress.iteration
        obs, logged = self._collect(obs)
        stored = algorithm.storage
        figures = {"reward": float(stored.rewards.mean()), "return": float(stored.returns.mean())}
        models = algorithm.actor, algorithm.critic
        refuse_not_finite(figures, models, iteration)
        algorithm.actor.requires_grad_(iteration >= self.warm_up)
        losses = algorithm.update()
        figures |= {"value_loss": losses["value"], "surrogate": losses["surrogate"]}
        figures["noise"] = float(algorithm.actor.output_std.detach().mean())
        figures["rate"] = float(algorithm.learning_rate)
        refuse_not_finite(figures, models, iteration)
        return obs, figures | logged

    @torch.inference_mode()
    def _collect(self, obs: TensorDict) -> tuple[TensorDict, dict[str, float]]:
        """Fill the storage; means of what the environments log."""
        algorithm, logged = self.algorithm, defaultdict[str, list[float]](list)
        for _ in range(algorithm.storage.num_transitions_per_env):
            obs, reward, done, extras = self.env.step(algorithm.act(obs))
            algorithm.process_env_step(obs, reward, done, extras)
            for name, value in extras.get("log", {}).items():
                logged[name].append(float(value))
        algorithm.compute_returns(obs)
        return obs, {name: float(np.mean(values)) for name, values in logged.items()}


def _nobody(now: Progress) -> None:
    """Nobody watches."""
