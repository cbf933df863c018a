"""Recorded walks: how a policy walked the robot, by which simulators are judged.

A robot that walks askew, because a zero or an IMU is off, shows it in every second of a walk and
hardly in a replay of half a second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.evaluating import play_worlds
from gapless.evaluation.walk_prediction import compare_walks, says_commands, scenario_of
from gapless.policies import Policy
from gapless.recordings.recording import Recording
from gapless.worlds.world import World

ARM = 0.3
"""A turn moves what is so far from the axis, m."""
EPISODES = 28
"""Walks in a simulator, all commands together."""
SEED = 700_001
"""Of their starts, which are not those of a prediction."""


@dataclass(frozen=True)
class RecordedWalks:
    """Walks of a robot under a policy that is given commands; see `RecordedPath`.

    Attributes:
        policy: that was recorded.
        takes: recordings of it, whose names say the commands.
    """

    policy: Policy
    takes: Sequence[Recording]
    chance = 0.2
    """What two plays of one simulator may differ by, as a share: walks are chaotic."""

    def __post_init__(self) -> None:
        if not says_commands(self.takes, self.policy):
            raise DataError(
                f"no walk can be compared: names of recordings do not say what {self.policy.name!r}"
                " was asked; expected names such as 'velocity 0.5 0 0'"
            )

    @property
    def fingerprint(self) -> str:
        """Of the question: the policy and what was recorded of it."""
        hashed = hashlib.sha256(self.policy.network.path.read_bytes())
        for take in self.takes:
            hashed.update(np.ascontiguousarray(take.q).tobytes())
        return hashed.hexdigest()[:16]

    def error(self, world: World) -> float:
        """How far the robot would be off after a second of walking, m, in the mean of commands."""
        return float(np.linalg.norm(self._off(world), axis=1).mean())

    def residuals(self, world: World) -> np.ndarray:
        """(R,) the same, command by command and way by way; their squares add up to m²."""
        off = self._off(world)
        return (off / np.sqrt(len(off))).ravel()

    def _off(self, world: World) -> np.ndarray:
        """(C, 3) ahead, aside and by turning, after a second of each command, m."""
        scenario = scenario_of(self.takes, self.policy, EPISODES, SEED)
        played = play_worlds(self.policy, {"simulated": world}, scenario)
        walks = compare_walks(self.policy, self.takes, played, scenario).walks
        pairs = [(walk.simulated["simulated"], walk.robot) for walk in walks]
        return np.array([np.subtract(*pair) for pair in pairs]) * [1.0, 1.0, ARM]
