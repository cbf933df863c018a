"""Copies of a world that replay windows of recordings, as an environment of rsl_rl.

An observation is the input of the correction's network, gathered as in use: the actor that is
trained is the correction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from gapless.corrections.linearised.tangent import difference
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.signals import Signals
from gapless.corrections.training.reward_inputs import RewardConstants, RewardInputs
from gapless.corrections.training.rewards import Reward
from gapless.corrections.training.task import Task

POOL = 1024
"""Windows that episodes are taken from until the next draw."""

BEYOND = "beyond"
"""What only the critic sees: the way to the recorded next state, and the load."""


class Replays(VecEnv):
    """Episodes are windows of the training recordings, each from its recorded state, under its
    recorded targets and with its own load.

    Args:
        task: world and recordings.
        correction: of one network; its bound, envelope, limits and normalisation act as in use.
        reward: of a step.
        copies: episodes at once.
        clips: episodes begin anywhere in the longest stretch that all recordings have and go on
            to its end, rather than last for the task's horizon.
    """

    def __init__(
        self, task: Task, correction: Correction, reward: Reward, copies: int, clips: bool = False
    ) -> None:
        contract, robot = correction.contract, task.world.robot
        self.task, self.correction, self.reward = task, correction, reward
        self.num_envs, self.num_actions = copies, len(contract.outputs)
        self.device, self.cfg = "cpu", {}
        self._clips, self._hold = clips, contract.hold
        seconds = min(r.duration for r in task.train) - 1 / task.world.rate
        self._seconds = seconds if clips else min(task.horizon, seconds)
        self.max_episode_length = max(1, round(self._seconds * task.world.rate) // self._hold)
        self._network, self._world = correction.network, task.world.twin()
        self._bound = np.array(contract.bound)
        unit = robot.action_scale if contract.head == "action" else self._bound
        columns = contract.columns
        self._scene = RewardConstants(
            robot, columns, task.world.rate, np.broadcast_to(unit, columns.shape)
        )
        self._window, self._at, self._end = np.zeros((3, copies), int)

    def begin(self, draw: int) -> TensorDict:
        """Draw windows anew and begin all episodes; everything after depends on `draw` alone."""
        self._rng = np.random.default_rng([self.task.seed, draw])
        self._windows = self.task.windows(self._seconds, POOL, draw)
        self._recorded = self._windows.states
        self._payloads = looked_at.payloads(self._windows.conditions)
        self._outputs = np.zeros((3, self.num_envs, self.num_actions))
        self._restart(np.ones(self.num_envs, bool))
        # Were all episodes of one age, a batch would hold only one part of them.
        left = 1 + self._rng.integers(0, self.max_episode_length, self.num_envs)
        self._end = np.minimum(self._end, self._at + left * self._hold)
        return self.get_observations()

    def get_observations(self) -> TensorDict:
        """The inputs of the network, by name, and what the critic sees beside them."""
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Apply (n, K) raw outputs of the network, before its bound, for as long as one is held."""
        asked = self._bound * np.tanh(actions.numpy().astype(float))
        reward, lost = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        for k in range(self._hold):
            if k:
                self._look(np.zeros(self.num_envs, bool))
            reward += np.where(lost, 0.0, self._advance(asked, k == 0))
            lost |= self._world.health.diverged
        done = lost | (self._at >= self._end)
        if done.any():
            self._restart(done)
        else:
            self._look(done)
        extras: dict[str, Any] = {"time_outs": torch.as_tensor(done & ~lost)}
        return self._observations, _tensor(reward), torch.as_tensor(done), extras

    def _advance(self, asked: np.ndarray, due: bool) -> np.ndarray:
        """(n,) rewards of one control step."""
        contract, before, memory = self.correction.contract, self._state, self._memory
        output = self._given(asked) if due else memory.output
        self._memory = memory.after(self._now, output, memory.hidden)
        self._outputs = np.stack([output, *self._outputs[:2]])
        spread = np.zeros_like(before.q)
        spread[:, contract.columns] = output
        target = self._now["target"]
        if contract.head == "action":
            state = self._world.step(target + spread)
        else:
            state = self._world.step(target, spread)
        self._at = self._at + 1
        self._state = state.start()
        weight = self._windows.weight[self._window, self._at - 1]
        real, lost = self._recorded[self._window, self._at], self._world.health.diverged
        return self.reward(
            RewardInputs(state, real, before, weight, self._outputs, lost, self._scene)
        )

    def _given(self, asked: np.ndarray) -> np.ndarray:
        """As in use: less outside the envelope, and no faster than allowed."""
        envelope = self.correction.envelope
        if envelope is not None:
            asked = asked * envelope.weight(self._now)[:, None]
        return self._network.limited(asked, self._memory.output)

    def _restart(self, which: np.ndarray) -> None:
        """Begin new episodes of some copies (a mask)."""
        rows = np.flatnonzero(which)
        steps, before = self.max_episode_length * self._hold, self._windows.before
        window = self._rng.integers(0, len(self._windows), len(rows))
        first = np.zeros(len(rows), int)
        if self._clips:
            first = self._hold * self._rng.integers(0, self.max_episode_length, len(rows))
        self._window[rows], self._at[rows], self._end[rows] = window, first, steps
        told = self._windows.conditions
        state, all_of_them = self._recorded[window, first], bool(which.all())
        self._world.reset(
            state,
            None if all_of_them else rows,
            [told[i] for i in window],
            self._windows.targets[window[:, None], first[:, None] + np.arange(before)],
        )
        self._state = state if all_of_them else self._state.with_rows(rows, state)
        self._outputs[:, rows] = 0.0
        self._look(which)

    def _look(self, fresh: np.ndarray) -> None:
        """Take in the present state; copies that are fresh (a mask) have no past."""
        now = self._signals()
        if fresh.any():
            begun = self.correction.begun(now)
            self._memory = begun if fresh.all() else self._memory.renewed(fresh, begun)
        self._now = self._network.completed(now, self._memory)

    def _signals(self) -> Signals:
        held = self._windows.targets[self._window, self._windows.before + self._at]
        payload = self._payloads[self._window]
        return {**looked_at.of_state(self._state), "target": held, "payload": payload}

    @property
    def _observations(self) -> TensorDict:
        given = self._network.gathered(self._now, self._memory)
        seen = self._network.normalised(self.correction.weights, given)
        ahead = difference(self._recorded[self._window, self._at + 1], self._state)
        beyond = np.concatenate([ahead, np.nan_to_num(self._now["payload"])], axis=1)
        found = {name: _tensor(x) for name, x in seen.items()} | {BEYOND: _tensor(beyond)}
        return TensorDict(found, batch_size=[self.num_envs])


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
