"""A Scenario: what a policy is asked to do, for how long, and what is done to it meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gapless.errors import DataError, SimulationError
from gapless.policies import PolicyContract
from gapless.policies.policy_contract import PolicyCommand
from gapless.recordings.conditions import Conditions
from gapless.robots import Payload, Robot

SHARES = (
    *((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)),
    *((0.0, 1.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.0, -1.0)),
)
"""Shares of a velocity policy's range that are asked for where no commands are given."""


def shared(share: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A command by its shares of a range: 1 is the upper end, -1 the lower one, 0 is nothing."""
    return np.where(share > 0, share * high, -share * low)


@dataclass(frozen=True)
class Scenario:
    """Many episodes of one policy.

    Attributes:
        episodes: how many, at once.
        seconds: of each; a tracker's end with its motion.
        commands: asked for in turn, one an episode; none takes a spread of the trained range. One
            of twice (three times, ...) as many numbers asks for that many, one after the other,
            each for its share of the episode.
        change_every: seconds after which an episode goes on to the next command; 0 is never.
        push: speed that is given to the base at once, in a random direction, m/s; 0 is none.
        push_every: seconds between pushes.
        payloads: link -> kilograms carried besides, at the link's own centre of mass; or a Payload,
            which says where.
        floor_friction: of the floor; None is the robot's own.
        slope: of the floor, degrees, uphill in +x.
        step_height: of stairs ahead, m; 0 is none.
        start_noise: of joint positions at the start, rad.
        seed: of starts, pushes and their moments.
    """

    episodes: int = 64
    seconds: float = 20.0
    commands: tuple[tuple[float, ...], ...] = ()
    change_every: float = 0.0
    push: float = 0.0
    push_every: float = 4.0
    payloads: Mapping[str, float | Payload] = field(default_factory=dict)
    floor_friction: float | None = None
    slope: float = 0.0
    step_height: float = 0.0
    start_noise: float = 0.02
    seed: int = 0

    def __post_init__(self) -> None:
        if self.episodes < 1 or not 0 < self.seconds < np.inf:
            raise DataError(
                f"{self.episodes} episodes of {self.seconds} s are no scenario; give one or more "
                "of some seconds"
            )
        if self.push < 0 or self.push_every <= 0 or self.change_every < 0:
            raise DataError("push and change_every must be 0 or more, push_every above 0")

    def asked(self, contract: PolicyContract, steps: int) -> dict[str, np.ndarray]:
        """Command -> (episodes, steps, C) what is asked for."""
        found = {}
        for name, command in contract.commands.items():
            choices = self.choices(command)
            if self.change_every:
                turn = (np.arange(steps) / (contract.rate * self.change_every)).astype(int)
                every = np.concatenate(choices)
                rows = [every[(i + turn) % len(every)] for i in range(self.episodes)]
            else:
                own = [choices[i % len(choices)] for i in range(self.episodes)]
                rows = [each[np.arange(steps) * len(each) // steps] for each in own]
            found[name] = np.stack(rows)
        return found

    def choices(self, command: PolicyCommand) -> list[np.ndarray]:
        """What episodes are asked, each (k, C): k commands one after the other."""
        low, high = np.array(command.lower), np.array(command.upper)
        if not self.commands:
            if len(low) != 3:
                return list(np.stack([(low + high) / 2, low, high])[:, None])
            return [shared(np.array(share), low, high)[None] for share in SHARES]
        if any(not len(given) or len(given) % len(low) for given in self.commands):
            raise DataError(
                f"a command has {len(low)} numbers ({', '.join(command.names)}), or a "
                "multiple of them for several, one after the other"
            )
        return [np.array(given, float).reshape(-1, len(low)) for given in self.commands]

    def pushes(self, rate: float, steps: int) -> np.ndarray:
        """(episodes, steps, 3) velocities that are added to the base, m/s; mostly zeros."""
        found = np.zeros((self.episodes, steps, 3))
        if not self.push:
            return found
        rng = np.random.default_rng([self.seed, 1])
        every = round(self.push_every * rate)
        first = rng.integers(every // 2, every + 1, self.episodes)
        for row, start in enumerate(first):
            at = np.arange(start, steps, every)
            way = rng.uniform(0, 2 * np.pi, len(at))
            found[row, at, :2] = self.push * np.stack([np.cos(way), np.sin(way)], axis=1)
        return found

    def conditions(self, contract: PolicyContract, robot: Robot) -> Conditions:
        """Gains of the policy, and loads."""
        loads = {
            link: load if isinstance(load, Payload) else Payload(load)
            for link, load in self.payloads.items()
        }
        for link in loads:
            robot.check_link(link)
        return Conditions(payloads={**robot.payloads, **loads}, gains=contract.gains)

    def floored(self, robot: Robot) -> Robot:
        """The robot on the scenario's floor."""
        changes = {}
        if self.floor_friction is not None:
            changes["friction"] = self.floor_friction
        if self.slope:
            changes["slope"] = float(np.radians(self.slope))
        if self.step_height:
            changes["step_height"] = self.step_height
        if changes and robot.mount != "free":
            raise SimulationError(f"{robot.name} is mounted {robot.mount!r}: it meets no floor")
        return robot.with_floor(replace(robot.floor, **changes)) if changes else robot
