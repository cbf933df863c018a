"""The smallest World that learners can be tried in: masses on springs, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gapless.learning.episode_task import Command, Start
from gapless.worlds.world import Health, State

RATE, GAIN, DAMPING, FAR = 20.0, 30.0, 8.0, 50.0


class DoubleIntegrator:
    """One joint: its acceleration is a PD law to its target; it diverges beyond FAR."""

    rate, history_steps = RATE, 0

    def __init__(self) -> None:
        self.resets: list[list[int] | None] = []

    @property
    def health(self) -> Health:
        """Environments that are too far away."""
        return Health(self._lost, np.where(self._lost, 0.0, np.nan))

    def reset(self, state, which=None, conditions=None, history=None) -> None:
        """Put environments into a state."""
        self.resets.append(None if which is None else which.tolist())
        if which is None:
            self._q, self._dq = state.q.copy(), state.dq.copy()
            self._lost = np.zeros(len(state), bool)
        else:
            self._q[which], self._dq[which], self._lost[which] = state.q, state.dq, False

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """One step of the control rate."""
        pull = GAIN * (target - self._q) - DAMPING * self._dq + (0 if torque is None else torque)
        self._dq = self._dq + pull / RATE
        self._q = self._q + self._dq / RATE
        self._lost = self._lost | (np.abs(self._q[:, 0]) > FAR)
        return State(self._q.copy(), self._dq.copy(), torque=pull)


class Reach:
    """Be at a goal that differs from episode to episode; beyond the edge an episode ends.

    Args:
        environments: n.
        length: steps of an episode.
        seed: of the goals.
        decimation: control steps of an action.
        course: steps after which an episode has nowhere to go on.
    """

    num_actions = 1
    edge = 3.0

    def __init__(
        self,
        environments: int,
        length: int = 20,
        seed: int = 0,
        decimation: int = 1,
        course: int = 10**6,
    ) -> None:
        self.max_episode_length, self.decimation = length, decimation
        self._seed, self._course = seed, course
        self.goal, self.age = np.zeros((environments, 1)), np.zeros(environments, int)

    def renew(self, draw: int) -> np.random.Generator:
        """Goals of a round."""
        self._rng = np.random.default_rng([self._seed, draw])
        return self._rng

    def begin(self, rows: np.ndarray) -> Start:
        """At rest at the origin, with a goal."""
        self.goal[rows] = self._rng.uniform(-1, 1, (len(rows), 1))
        self.age[rows] = 0
        nothing = np.zeros((len(rows), 1))
        return Start(State(nothing, nothing.copy()))

    def look(self, state: State, fresh: np.ndarray) -> None:
        """The state, as it is."""
        self.state, self.fresh = state, fresh

    def observations(self) -> Mapping[str, np.ndarray]:
        """Where it is, how fast, and where it is to be; the critic's own is the way."""
        now = np.concatenate([self.state.q, self.state.dq, self.goal], axis=1)
        return {"policy": now, "privileged": self.goal - self.state.q}

    def command(self, actions: np.ndarray, first: bool) -> Command:
        """An action is a target."""
        return Command(actions)

    def reward(self, state: State, lost: np.ndarray) -> np.ndarray:
        """Less the further away."""
        self.state, self.age = state, self.age + 1
        return np.where(lost, -10.0, -((state.q - self.goal)[:, 0] ** 2))

    def terminated(self) -> np.ndarray:
        """Beyond the edge."""
        return np.abs(self.state.q[:, 0]) > self.edge

    def expired(self) -> np.ndarray:
        """At the end of its course."""
        return self.age >= self._course

    def figures(self) -> dict[str, float]:
        """The mean distance."""
        return {"distance": float(np.abs(self.state.q - self.goal).mean())}
