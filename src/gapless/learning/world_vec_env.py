"""WorldVecEnv: any World as the environments of rsl_rl."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from gapless.learning.episode_task import EpisodeTask
from gapless.worlds.world import State, World


class WorldVecEnv(VecEnv):
    """The environments of a world as environments with a task, reset row by row.

    An episode ends where its environment diverged or its task terminated it, and as a time-out
    where its task expired or `episode_length_buf` reached `max_episode_length`. That buffer may be
    set from outside, as rsl_rl's runner does to spread the ages of episodes.

    Args:
        world: whose environments become the environments; nobody else may step it.
        task: what is done in it.
        num_envs: how many.
    """

    def __init__(self, world: World, task: EpisodeTask, num_envs: int) -> None:
        self.world, self.episodes = world, task
        self.num_envs, self.num_actions = num_envs, task.num_actions
        self.max_episode_length = task.max_episode_length
        self.episode_length_buf = torch.zeros(num_envs, dtype=torch.long)
        self.device, self.cfg = "cpu", {}
        self._state: State | None = None
        self._observations: TensorDict | None = None

    def begin(self, draw: int) -> TensorDict:
        """Begin all episodes; everything after depends on `draw` alone."""
        chance = self.episodes.renew(draw)
        self._reset(np.ones(self.num_envs, bool))
        # Were all episodes of one age, a batch would hold only one part of them.
        left = 1 + chance.integers(0, self.max_episode_length, self.num_envs)
        self.episode_length_buf = torch.as_tensor(self.max_episode_length - left)
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """The observation groups of the present state; begins the first episodes."""
        if self._observations is None:
            self.begin(0)
        assert self._observations is not None
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Apply (n, A) actions, each for as long as it is held; episodes that end begin anew."""
        self.get_observations()
        reward, lost = self._play(actions.detach().cpu().numpy().astype(float))
        age = self.episode_length_buf + 1
        terminated = lost | self.episodes.terminated()
        late = self.episodes.expired() | (age.numpy() >= self.max_episode_length)
        done = terminated | late
        extras: dict[str, Any] = {"time_outs": torch.as_tensor(late & ~terminated)}
        if figures := self.episodes.figures():
            extras["log"] = dict(figures)
        # A new tensor each time: inside rsl_rl's inference mode none may be changed in place.
        self.episode_length_buf = torch.where(torch.as_tensor(done), 0, age)
        self._reset(done)
        return self.get_observations(), _tensor(reward), torch.as_tensor(done), extras

    def _play(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) rewards of the control steps of an action, and environments that diverged."""
        task, nobody = self.episodes, np.zeros(self.num_envs, bool)
        reward, lost = np.zeros(self.num_envs), nobody
        for k in range(task.decimation):
            if k:
                assert self._state is not None
                task.look(self._state, nobody)
            command = task.command(actions, k == 0)
            if command.push is not None and command.push.any():
                self.world.push(command.push)
            self._state = self.world.step(command.target, command.torque)
            diverged = self.world.health.diverged
            reward += np.where(lost, 0.0, task.reward(self._state, diverged))
            lost = lost | diverged
        return reward, lost

    def _reset(self, which: np.ndarray) -> None:
        """Begin new episodes of some environments (a mask), and look at all."""
        if which.any():
            rows = np.flatnonzero(which)
            start = self.episodes.begin(rows)
            of_all = bool(which.all())
            self.world.reset(start.state, None if of_all else rows, start.conditions, start.history)
            of_some = None if of_all else self._state
            self._state = start.state if of_some is None else of_some.with_rows(rows, start.state)
        assert self._state is not None
        self.episodes.look(self._state, which)
        found = {name: _tensor(x) for name, x in self.episodes.observations().items()}
        self._observations = TensorDict(found, batch_size=[self.num_envs])


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
