"""`ppo`: learn a correction by reinforcement, as the papers did, with rsl_rl's algorithm.

Episodes replay windows of the recordings; the reward says how near each step came.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.learner import FIXED
from gapless.corrections.training.ppo_policy import Actor
from gapless.corrections.training.replay_env import BEYOND, Replays
from gapless.corrections.training.rewards import REWARDS, Reward, suited
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingSession
from gapless.errors import DataError, unknown
from gapless.learning.ppo_loop import PpoLoop
from gapless.learning.ppo_progress import JUDGEMENT
from gapless.learning.ppo_settings import PpoSettings
from gapless.learning.threads import torch_threads
from gapless.progress import Progress

ROUND = 10
"""Iterations of a round."""


@dataclass(frozen=True)
class Ppo(PpoSettings):
    """Settings of the trainer, beside those of `PpoSettings`.

    A joint answers within a few steps, so a gamma below the papers' 0.99 learns faster.

    Attributes:
        reward: gaponet, asap or residual; auto takes that of the paper whose correction it is.
        weights: of the reward, where they differ from its own.
        episodes: "windows" of the task's horizon, or "clips" from a random start to the end.
        environments: episodes at once.
        noise: standard deviation of actions, as a share of the bound (0.05 rad of 0.3).
    """

    reward: str = "auto"
    weights: dict[str, Any] = field(default_factory=dict)
    episodes: str = "windows"
    environments: int = 256
    noise: float = 1 / 6

    def train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        """Rounds of episodes; the best by the choosing motions is kept."""
        self._refuse(start)
        with torch_threads(self.threads):
            return self._train(task, start, run)

    def _train(self, task: Task, start: Correction, run: TrainingSession) -> Correction:
        single, reward = _single(start), self._reward(task, start)
        env = Replays(task, single, reward, self.environments, self.episodes == "clips")
        actor = Actor(single, self.environments, self.noise)
        critic = self.critic_of(env, [*single.network.inputs, BEYOND], task.seed)

        def watch(now: Progress) -> None:
            judged = JUDGEMENT in now.figures
            run.pass_on(now, _many(single.with_weights(actor.arrays()), start) if judged else None)

        loop = PpoLoop(
            env,
            self.algorithm(env, actor, critic),
            self.iterations,
            self.seconds,
            judge=lambda weights: task.error(single.with_weights(weights)),
            snapshot=actor.arrays,
            seed=task.seed,
            round_length=ROUND,
        )
        return _many(single.with_weights(loop.run(run.checkpoint, watch)), start)

    def _refuse(self, start: Correction) -> None:
        if start.contract.head == "state":
            raise DataError(
                "ppo trains corrections of actions and torques, not of states; use --trainer "
                "autoregressive, or --head action"
            )
        if self.episodes not in ("windows", "clips"):
            raise unknown("kind of episodes", self.episodes, ("windows", "clips"))
        self.refuse_few(self.environments, "environments")

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
