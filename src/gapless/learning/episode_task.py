"""What a learner does in a world: where episodes begin, what is seen, what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gapless.recordings.conditions import Conditions
from gapless.worlds.world import State


@dataclass(frozen=True)
class Start:
    """Where k episodes begin; see `World.reset`.

    Attributes:
        state: of k environments.
        conditions: payload and gains of each, where they differ from the robot's.
        history: (k, H, J) targets before the first, newest last.
    """

    state: State
    conditions: Sequence[Conditions] | None = None
    history: np.ndarray | None = None


@dataclass(frozen=True)
class Command:
    """What n environments hold for one control step.

    Attributes:
        target: (n, J) joint positions, rad.
        torque: (n, J) extra joint torques, N·m.
        push: (n, 3) velocity that is given to the bases before it, m/s.
    """

    target: np.ndarray
    torque: np.ndarray | None = None
    push: np.ndarray | None = None


class EpisodeTask(Protocol):
    """A task of n environments; it draws, looks, commands and rewards, and steps no world.

    In every control step `WorldVecEnv` calls `command`, steps its world, and calls `reward`; then
    `terminated` and `expired`, `begin` for the rows whose episodes ended, and `look`.
    """

    @property
    def num_actions(self) -> int:
        """Columns of an action."""
        ...

    @property
    def max_episode_length(self) -> int:
        """Actions of the longest episode."""
        ...

    @property
    def decimation(self) -> int:
        """Control steps that an action is held."""
        ...

    def renew(self, draw: int) -> np.random.Generator:
        """Forget everything; what is drawn from now on, with this chance, depends on `draw`."""
        ...

    def begin(self, rows: np.ndarray) -> Start:
        """Draw new episodes for k environments (indices)."""
        ...

    def look(self, state: State, fresh: np.ndarray) -> None:
        """Take in the present state of all; environments that are fresh (a mask) have no past."""
        ...

    def observations(self) -> Mapping[str, np.ndarray]:
        """(n, d) observation groups of the state that was looked at last."""
        ...

    def command(self, actions: np.ndarray, first: bool) -> Command:
        """What (n, A) actions command for the next control step; `first` where they are new."""
        ...

    def reward(self, state: State, lost: np.ndarray) -> np.ndarray:
        """(n,) of the control step that led to a state; finite where it diverged (a mask), too."""
        ...

    def terminated(self) -> np.ndarray:
        """(n,) episodes that ended in a state of no worth, such as a fall."""
        ...

    def expired(self) -> np.ndarray:
        """(n,) episodes that have nowhere to go on, such as the end of a motion: time-outs."""
        ...

    def figures(self) -> Mapping[str, float]:
        """What is worth logging of the last step, by name."""
        ...
