"""Settings of rsl_rl's PPO that every learner here shares, and the algorithm that they make."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from rsl_rl.algorithms import PPO
from rsl_rl.env import VecEnv
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage

from gapless.errors import DataError

COUNTS = ("iterations", "steps", "epochs", "minibatches", "threads")
"""Settings of which there must be one at least."""


@dataclass(frozen=True)
class PpoSettings:
    """Settings of a training by PPO.

    Attributes:
        iterations: of collecting and learning.
        steps: of each environment in an iteration.
        seconds: wall time after which the training ends early.
        rate: step size of Adam to begin with.
        entropy: weight that keeps the noise alive.
        gamma: worth of the next step's reward.
        lam: of generalised advantages.
        clip: largest change of an action's likelihood that counts.
        epochs: passes over the steps of an iteration.
        minibatches: parts of each pass.
        kl: change of the policy that the step size is steered to.
        critic: hidden sizes.
        threads: of torch. The networks are small: on a busy machine more are slower, not faster.
    """

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
    critic: tuple[int, ...] = (256, 128)
    threads: int = 1

    def refuse_few(self, environments: int, called: str = "environments") -> None:
        """Refuse numbers that PPO cannot work with; `called` is the user's word for the first."""
        counts = {called: environments} | {n: getattr(self, n) for n in COUNTS}
        if min(counts.values()) < 1 or environments < self.minibatches:
            raise DataError(
                f"ppo has {', '.join(f'{n}={v}' for n, v in counts.items())}; expected 1 or more "
                f"of each, and no more minibatches than {called}"
            )

    def actor_of(
        self,
        env: VecEnv,
        groups: list[str],
        sizes: tuple[int, ...],
        noise: float,
        seed: int,
        activation: str = "elu",
    ) -> MLPModel:
        """A Gaussian actor that sees some observation groups, normalised; `noise` is its start."""
        gaussian = {"class_name": "GaussianDistribution", "init_std": noise, "std_type": "log"}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return MLPModel(
                env.get_observations(),
                {"actor": groups},
                "actor",
                env.num_actions,
                sizes,
                activation,
                obs_normalization=True,
                distribution_cfg=gaussian,
            )

    def critic_of(self, env: VecEnv, groups: list[str], seed: int) -> MLPModel:
        """A critic that sees some observation groups, normalised."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return MLPModel(
                env.get_observations(),
                {"critic": groups},
                "critic",
                1,
                self.critic,
                obs_normalization=True,
            )

    def algorithm(self, env: VecEnv, actor: MLPModel, critic: MLPModel) -> PPO:
        """The algorithm, with room for the steps of an iteration."""
        obs = env.get_observations()
        return PPO(
            actor,
            critic,
            RolloutStorage("rl", env.num_envs, self.steps, obs, [env.num_actions]),
            num_learning_epochs=self.epochs,
            num_mini_batches=self.minibatches,
            clip_param=self.clip,
            gamma=self.gamma,
            lam=self.lam,
            entropy_coef=self.entropy,
            learning_rate=self.rate,
            desired_kl=self.kl,
        )
