"""Predict the path: where a policy takes a robot in a simulator, against where it took the robot.

Replays of half a second hardly show what is wrong about balance: a mass centre and the tilt of an
IMU do the same to them. A policy that balances answers the two differently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapless.errors import DataError
from gapless.evaluation.policy_episodes import Episodes, play
from gapless.evaluation.scenario import Scenario
from gapless.policies import Policy
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Robot, TrackingPoint
from gapless.verdict import LEAST_GAIN
from gapless.worlds.world import State, World

FELL = 0.5
"""What it counts, m, where one stands and the other has fallen: ASAP's distance of a failure."""
LONGEST = 8.0
"""Seconds of each take that are compared."""
EVERY = 4
"""Samples of which one is fitted."""
HALF = 0.5
"""Of the takes: the mean of fewer is of those that were about to fall."""
BASE = ("base_pos", "base_quat_wxyz", "base_lin_vel_w", "base_ang_vel_b")


@dataclass(frozen=True)
class PathPrediction:
    """Takes of a robot under a policy, by which simulators are judged.

    Attributes:
        policy: that was recorded; a tracker, which needs no commands.
        takes: recordings of it from its first step on, with the base.
    """

    policy: Policy
    takes: Sequence[Recording]
    chance = LEAST_GAIN
    """What two plays of one simulator may differ by, as a share: the mean path hardly does."""

    def __post_init__(self) -> None:
        if self.policy.contract.commands:
            asked = ", ".join(self.policy.contract.commands)
            raise DataError(
                f"policy {self.policy.name!r} is given commands ({asked}); paths are predicted of "
                "policies that follow a motion: see RecordedWalks"
            )
        rates = {take.rate for take in self.takes} - {self.policy.contract.rate}
        if rates:
            raise DataError(
                f"takes at {', '.join(f'{rate:g}' for rate in rates)} Hz of {self.policy.name!r}, "
                f"which acts at {self.policy.contract.rate:g} Hz; expected takes at its own rate"
            )
        lacking = [r.name for r in self.takes if any(c not in r.channels for c in BASE)]
        if lacking or not self.takes:
            raise DataError(
                f"no path can be compared: {', '.join(lacking[:3]) or 'there are no takes'} "
                f"without a base; expected the channels {', '.join(BASE)}"
            )

    @property
    def fingerprint(self) -> str:
        """Of the question: the policy and what was recorded of it."""
        hashed = hashlib.sha256(self.policy.network.path.read_bytes())
        for take in self.takes:
            hashed.update(np.ascontiguousarray(take.q).tobytes())
        return hashed.hexdigest()[:16]

    @cached_property
    def steps(self) -> int:
        """Samples that are compared."""
        longest = max(len(take) for take in self.takes)
        return min(longest, round(LONGEST * self.takes[0].rate))

    def error(self, world: World) -> float:
        """How far bodies are from where they were on the robot, m, in the mean of all takes.

        Pushes that nobody logged move single takes, not their mean. Who stands only in the one of
        the two counts as FELL away.
        """
        off, more = self._off(world)
        return float(np.mean(np.linalg.norm(off, axis=-1).mean(axis=-1) + FELL * more))

    def missed(self, world: World) -> np.ndarray:
        """(T, P, 3) from where bodies are in a world to where they were on the robot, m.

        Of the mean path; where half of the takes or more have ended or fallen, as far as just
        before.
        """
        played = self._played(world)
        both = self._stood & self._stands(played)
        off = -self._apart(played, both)
        told = np.flatnonzero(both.mean(axis=0) > HALF)
        last = told[-1] if len(told) else 0
        return off[np.minimum(np.arange(len(off)), last)]

    def residuals(self, world: World) -> np.ndarray:
        """(R,) the same of some samples, coordinate by coordinate; their squares add up to m²."""
        off, more = (part[::EVERY] for part in self._off(world))
        flat = off.reshape(len(off), -1) / np.sqrt(off.shape[1])
        found = np.concatenate([flat, FELL * more[:, None]], axis=1) / np.sqrt(len(off))
        return found.ravel()

    def _off(self, world: World) -> tuple[np.ndarray, np.ndarray]:
        """(T, P, 3) how far the mean path is off, m, and (T,) how many more stand in one of two."""
        played = self._played(world)
        stands = self._stands(played)
        more = np.abs(self._stood.mean(axis=0) - stands.mean(axis=0))
        return self._apart(played, self._stood & stands), more

    @cached_property
    def _stood(self) -> np.ndarray:
        """(n, T) while the robot stood in each take."""
        return np.arange(self.steps) < np.array([len(take) for take in self.takes])[:, None]

    def _stands(self, played: Episodes) -> np.ndarray:
        """(n, T) the same of a simulator; all may have fallen, and nothing more was played."""
        samples = np.arange(self.steps)
        return (samples < played.fell[:, None]) & (samples <= played.steps)

    def _played(self, world: World) -> Episodes:
        start = _starts(self.takes, world.robot)
        asked = Scenario(episodes=len(self.takes), seconds=self.steps / self.takes[0].rate)
        return play(self.policy, world, asked, start=start)

    def _apart(self, played: Episodes, both: np.ndarray) -> np.ndarray:
        """(T, P, 3) between the mean paths of those that stand in both, (n, T) True; else 0."""
        robot, last = played.robot, played.readings.q.shape[1] - 1
        simulated = played.readings[:, np.minimum(np.arange(self.steps), last)]
        real = [_padded(take, self.steps) for take in _readings(self.takes, robot)]
        sides = _places(robot, simulated), _places(robot, State.stack(real))
        off = np.where(both[..., None, None], np.subtract(*sides), 0.0).sum(axis=0)
        return off / np.maximum(both.sum(axis=0), 1)[:, None, None]


def _readings(takes: Sequence[Recording], robot: Robot) -> list[State]:
    """Each take as states in the robot's order."""
    found = []
    for take in takes:
        column = {name: i for i, name in enumerate(take.joints)}
        missing = [name for name in robot.joints.names if name not in column]
        if missing:
            raise DataError(
                f"recording {take.name!r} says nothing of {', '.join(missing)} of {robot.name!r}; "
                "lock the joints that were locked when it was recorded"
            )
        order = [column[name] for name in robot.joints.names]
        dq = take.channels.get("dq")
        dq = np.gradient(take.q, axis=0) * take.rate if dq is None else dq
        base = {name: take.channels[name] for name in BASE}
        found.append(State(q=take.q[:, order], dq=dq[:, order], **base))
    return found


def _starts(takes: Sequence[Recording], robot: Robot) -> State:
    """The first readings; of a simulated robot sample 0 is where it was put, not what it read."""
    return State.concatenate([state[1:2] for state in _readings(takes, robot)])


def _padded(state: State, count: int) -> State:
    """As many samples, the last repeated."""
    return state[np.minimum(np.arange(count), len(state) - 1)]


def _places(robot: Robot, states: State) -> np.ndarray:
    """(n, T, P, 3) of bodies in (n, T, ...) states, m."""
    points = robot.tracking or tuple(TrackingPoint(link, link) for link in robot.links)
    kinematics = Kinematics.of(robot)
    arrays = (states.q, states.base_pos, states.base_quat_wxyz)
    flat = [np.asarray(a, float).reshape(-1, a.shape[-1]) for a in arrays if a is not None]
    return kinematics.points(*flat, points=points).reshape(*states.q.shape[:2], len(points), 3)
