"""`ppo`: learn a correction by reinforcement, as the papers did, with rsl_rl's algorithm.

Episodes replay windows of the recordings; the reward says how near each step came. All episodes
begin anew with every round, so that a training that was stopped between two goes on as if it had
not been.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.learner import FIXED, torch_threads
from gapless.corrections.training.ppo_policy import Actor
from gapless.corrections.training.ppo_progress import PpoProgress
from gapless.corrections.training.replay_env import BEYOND, Replays
from gapless.corrections.training.rewards import REWARDS, Reward, suited
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession
from gapless.errors import DataError, unknown

ROUND = 10
"""Iterations of a round."""


@dataclass(frozen=True)
class Ppo:
    """Settings of the trainer.

    Attributes:
        reward: gaponet, asap or residual; auto takes that of the paper whose correction it is.
        weights: of the reward, where they differ from its own.
        episodes: "windows" of the task's horizon, or "clips" from a random start to the end.
        copies: episodes at once.
        iterations: of collecting and learning.
        steps: control steps of each copy in an iteration.
        seconds: wall time after which the training ends early.
        rate: step size of Adam to begin with.
        entropy: weight that keeps the noise alive.
        gamma: worth of the next step's reward. A joint answers within a few steps, so less than
            the papers' 0.99 learns faster.
        lam: of generalised advantages.
        clip: largest change of an action's likelihood that counts.
        epochs: passes over the steps of an iteration.
        minibatches: parts of each pass.
        kl: change of the policy that the step size is steered to.
        noise: standard deviation of actions, as a share of the bound (0.05 rad of 0.3).
        critic: hidden sizes.
        threads: of torch. The networks are small: on a busy machine more are slower, not faster.
    """

    reward: str = "auto"
    weights: dict[str, Any] = field(default_factory=dict)
    episodes: str = "windows"
    copies: int = 256
    iterations: int = 500
    steps: int = 24
    seconds: float | None = None
    rate: float = 1e-3
    entropy: float = 0.0
    gamma: float = 0.95
    lam: float = 0.95
    clip: float = 0.2
    epochs: int = 5
    minibatches: int = 4
    kl: float = 0.02
    noise: float = 1 / 6
    critic: tuple[int, ...] = (256, 128)
    threads: int = 1

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """Rounds of episodes; the best by validation is kept."""
        self._refuse(start)
        with torch_threads(self.threads):
            return self._train(task, start, run)

    def _train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        single, reward = _single(start), self._reward(task, start)
        env = Replays(task, single, reward, self.copies, self.episodes == "clips")
        progress = PpoProgress(
            single, self._algorithm(env, task.seed), self.iterations, self.seconds or np.inf
        )
        if not progress.restore(run.checkpoint):
            progress.error = task.error(single)
        while progress.done < 1:
            self._round(env, progress, run)
            figures = progress.judge(task)
            progress.keep(run.checkpoint, now=bool(figures))
            if figures:
                run.pass_on(progress.event(figures), _many(progress.correction, start))
        return _many(progress.best, start)

    def _refuse(self, start: Correction) -> None:
        if start.contract.head == "state":
            raise DataError(
                "ppo trains corrections of actions and torques, not of states; use --trainer "
                "autoregressive, or --head action"
            )
        if self.episodes not in ("windows", "clips"):
            raise unknown("kind of episodes", self.episodes, ("windows", "clips"))
        counts = ("copies", "iterations", "steps", "epochs", "minibatches", "threads")
        few = [n for n in counts if getattr(self, n) < 1]
        if few or self.copies < self.minibatches:
            raise DataError(
                f"ppo has {', '.join(f'{n}={getattr(self, n)}' for n in counts)}; expected 1 or "
                "more of each, and no more minibatches than copies"
            )

    def _reward(self, task: Task, start: Correction) -> Reward:
        name = self.reward
        if name == "auto":
            name = suited(start.contract.head, task.world.robot.mount)
        if name not in REWARDS:
            raise unknown("reward", name, (*REWARDS, "auto"))
        kind = REWARDS[name]
        for key in self.weights:
            if key not in kind.__dataclass_fields__:
                raise unknown(f"weight of the {name} reward", key, kind.__dataclass_fields__)
        return kind(**self.weights)

    def _algorithm(self, env: Replays, seed: int) -> PPO:
        obs, groups = env.begin(0), [*env.correction.network.inputs, BEYOND]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            critic = MLPModel(
                obs, {"critic": groups}, "critic", 1, self.critic, obs_normalization=True
            )
        return PPO(
            Actor(env.correction, self.copies, self.noise),
            critic,
            RolloutStorage("rl", self.copies, self.steps, obs, [env.num_actions]),
            num_learning_epochs=self.epochs,
            num_mini_batches=self.minibatches,
            clip_param=self.clip,
            gamma=self.gamma,
            lam=self.lam,
            entropy_coef=self.entropy,
            learning_rate=self.rate,
            desired_kl=self.kl,
        )

    def _round(self, env: Replays, progress: PpoProgress, run: TrainingSession) -> None:
        obs = env.begin(progress.iteration // ROUND)
        progress.algorithm.actor.reset()
        for _ in range(ROUND):
            began = time.monotonic()
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(env.task.seed * 1_000_003 + progress.iteration)
                obs, figures = self._iteration(env, progress, obs)
            progress.iteration += 1
            progress.seconds += time.monotonic() - began
            run.pass_on(progress.event(figures))
            if progress.done >= 1:
                return

    def _iteration(
        self, env: Replays, progress: PpoProgress, obs: TensorDict
    ) -> tuple[TensorDict, dict[str, float]]:
        """Collect steps and learn from them."""
        algorithm = progress.algorithm
        with torch.inference_mode():
            for _ in range(self.steps):
                obs, reward, done, extras = env.step(algorithm.act(obs))
                algorithm.process_env_step(obs, reward, done, extras)
            algorithm.compute_returns(obs)
        stored = algorithm.storage
        figures = {"reward": float(stored.rewards.mean()), "return": float(stored.returns.mean())}
        progress.refuse_not_finite(figures)
        losses = algorithm.update()
        figures |= {"value_loss": losses["value"], "surrogate": losses["surrogate"]}
        figures["noise"] = float(algorithm.actor.output_std.detach().mean())
        progress.refuse_not_finite(figures)
        return obs, figures


def _single(start: Correction) -> Correction:
    """Its first network alone: PPO trains one."""
    weights = {k: v if k.endswith(FIXED) else v[:1] for k, v in start.weights.items()}
    return replace(start, contract=replace(start.contract, members=1), weights=weights)


def _many(found: Correction, start: Correction) -> Correction:
    """An ensemble, as the contract asks, of one network."""
    members = start.contract.members
    weights = {
        k: v if k.endswith(FIXED) else np.repeat(v, members, axis=0)
        for k, v in found.weights.items()
    }
    return replace(start, weights=weights)
