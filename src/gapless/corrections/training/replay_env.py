"""Replays of recordings as the episodes of a learner.

An observation is the input of the correction's network, gathered as in use: the actor that is
trained is the correction.
"""

from __future__ import annotations

import numpy as np

from gapless.corrections.linearised.tangent import difference
from gapless.corrections.runtime import signals as looked_at
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.signals import Signals
from gapless.corrections.training.reward_inputs import RewardConstants, RewardInputs
from gapless.corrections.training.rewards import Reward
from gapless.corrections.training.task import Task
from gapless.learning.episode_task import Command, Start
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.worlds.world import State

POOL = 1024
"""Windows that episodes are taken from until the next draw."""

BEYOND = "beyond"
"""What only the critic sees: the way to the recorded next state, and the load."""


class ReplayTask:
    """Episodes are windows of the training recordings, each from its recorded state, under its
    recorded targets and with its own load; see `EpisodeTask`.

    Args:
        task: world and recordings.
        correction: of one network; its bound, envelope, limits and normalisation act as in use.
        reward: of a step.
        environments: episodes at once.
        clips: episodes begin anywhere in the longest stretch that all recordings have and go on
            to its end, rather than last for the task's horizon.
    """

    def __init__(
        self, task: Task, correction: Correction, reward: Reward, environments: int, clips: bool
    ) -> None:
        contract, robot, rate = correction.contract, task.world.robot, task.world.rate
        self._task, self._correction, self._reward = task, correction, reward
        self.num_actions, self.decimation = len(contract.outputs), contract.hold
        self._clips, self._environments = clips, environments
        seconds = min(r.duration for r in task.learn) - 1 / rate
        self._seconds = seconds if clips else min(task.horizon, seconds)
        self.max_episode_length = max(1, round(self._seconds * rate) // self.decimation)
        self._network, self._bound = correction.network, np.array(contract.bound)
        unit = robot.action_scale if contract.head == "action" else self._bound
        columns = contract.columns
        self._scene = RewardConstants(robot, columns, rate, np.broadcast_to(unit, columns.shape))
        self._window, self._at = np.zeros((2, environments), int)

    def renew(self, draw: int) -> np.random.Generator:
        """Draw windows anew."""
        self._rng = np.random.default_rng([self._task.seed, draw])
        self._windows = self._task.windows(self._seconds, POOL, draw)
        self._recorded = self._windows.states
        self._payloads = looked_at.payloads(self._windows.conditions)
        self._outputs = np.zeros((3, self._environments, self.num_actions))
        return self._rng

    def begin(self, rows: np.ndarray) -> Start:
        """Choose windows, and in clips where to begin."""
        window = self._rng.integers(0, len(self._windows), len(rows))
        first = np.zeros(len(rows), int)
        if self._clips:
            places = self._rng.integers(0, self.max_episode_length, len(rows))
            first = self.decimation * places
        self._window[rows], self._at[rows] = window, first
        self._outputs[:, rows] = 0.0
        told, before = self._windows.conditions, np.arange(self._windows.before)
        return Start(
            self._recorded[window, first],
            [told[i] for i in window],
            self._windows.targets[window[:, None], first[:, None] + before],
        )

    def look(self, state: State, fresh: np.ndarray) -> None:
        """Take in the signals, as the correction does in use."""
        self._state = state.start()
        now = self._signals()
        if fresh.any():
            begun = self._correction.begun(now)
            self._memory = begun if fresh.all() else self._memory.renewed(fresh, begun)
        self._now = self._network.completed(now, self._memory)

    def _signals(self) -> Signals:
        held = self._windows.targets[self._window, self._windows.before + self._at]
        payload = self._payloads[self._window]
        return {**looked_at.of_state(self._state), "target": held, "payload": payload}

    def observations(self) -> dict[str, np.ndarray]:
        """The inputs of the network, by name, and what the critic sees beside them."""
        given = self._network.gathered(self._now, self._memory)
        seen = self._network.normalised(self._correction.weights, given)
        ahead = difference(self._recorded[self._window, self._at + 1], self._state)
        beyond = np.concatenate([ahead, np.nan_to_num(self._now["payload"])], axis=1)
        return {**seen, BEYOND: beyond}

    def command(self, actions: np.ndarray, first: bool) -> Command:
        """The recorded targets with (n, K) raw outputs of the network, within their bounds."""
        contract, memory = self._correction.contract, self._memory
        output = self._given(self._bound * np.tanh(actions)) if first else memory.output
        self._memory = memory.after(self._now, output, memory.hidden)
        self._outputs = np.stack([output, *self._outputs[:2]])
        spread = np.zeros_like(self._state.q)
        spread[:, contract.columns] = output
        target = self._now["target"]
        return Command(target + spread) if contract.head == "action" else Command(target, spread)

    def _given(self, asked: np.ndarray) -> np.ndarray:
        """As in use: less outside the envelope, and no faster than allowed."""
        asked = asked * self._correction.trusted(self._now)
        return self._network.limited(asked, self._memory.output)

    def reward(self, state: State, lost: np.ndarray) -> np.ndarray:
        """(n,) how near the recorded next state a control step came."""
        self._at = self._at + 1
        weight = self._windows.weight[self._window, self._at - 1]
        real = self._recorded[self._window, self._at]
        return self._reward(
            RewardInputs(state, real, self._state, weight, self._outputs, lost, self._scene)
        )

    def terminated(self) -> np.ndarray:
        """Only what diverges ends early."""
        return np.zeros(self._environments, bool)

    def expired(self) -> np.ndarray:
        """Windows that were played to their end."""
        return self._at >= self.max_episode_length * self.decimation

    def figures(self) -> dict[str, float]:
        """The reward says it all."""
        return {}


class Replays(WorldVecEnv):
    """Environments that replay windows of recordings; see `ReplayTask`."""

    def __init__(
        self,
        task: Task,
        correction: Correction,
        reward: Reward,
        environments: int,
        clips: bool = False,
    ) -> None:
        episodes = ReplayTask(task, correction, reward, environments, clips)
        super().__init__(task.world.twin(), episodes, environments)
        self.task, self.correction = task, correction
