"""The walks of a plan: what a policy is asked, in as many sequences as the hours take."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path

import numpy as np

from gapless.collection.plan import CollectionPlan
from gapless.errors import DataError
from gapless.evaluation.episode_recordings import in_words
from gapless.evaluation.scenario import Scenario, shared
from gapless.policies import Policy
from gapless.policies.policy_contract import PolicyCommand
from gapless.robots import Robot
from gapless.worlds.chance import generator

DRAWN: dict[str, tuple[tuple[float, float], ...]] = {
    "standing": ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
    "forward": ((0.2, 1.0), (0.0, 0.0), (0.0, 0.0)),
    "backward": ((-1.0, -0.3), (0.0, 0.0), (0.0, 0.0)),
    "sideways": ((0.0, 0.0), (0.3, 1.0), (0.0, 0.0)),
    "turning": ((0.0, 0.0), (0.0, 0.0), (0.3, 1.0)),
    "mixed": ((-0.6, 0.9), (-0.8, 0.8), (-0.8, 0.8)),
}
"""Kind of a walk -> shares of the trained range of vx, vy, wz that it is drawn from; sideways and
turning in either direction."""
KINDS = (*DRAWN, "changing")
"""In turn; a changing walk is asked one of the others, and then another."""
TRIES = 200
"""Draws after which a range is taken to have no more commands."""
DIGITS = 2
"""Of commands: what a walk is called is what it was asked."""


@dataclass(frozen=True, eq=False)
class Walks:
    """The distinct walks that a plan records.

    Attributes:
        robot: the nominal robot.
        policy: that walks.
        commands: of each walk, (k, C): k commands, one after the other.
        levels: kind of each walk.
        seconds: of each.
    """

    robot: Robot
    policy: Policy
    commands: tuple[np.ndarray, ...]
    levels: tuple[str, ...]
    seconds: float

    @property
    def names(self) -> list[tuple[str, str]]:
        """Name and kind of each walk."""
        command = next(iter(self.policy.contract.commands))
        words = [f"{command} {in_words(own)}" for own in self.commands]
        return list(zip(words, self.levels, strict=True))

    def targets(self, rate: float) -> dict[str, np.ndarray]:
        """(T, C) what is asked in each walk, by its name."""
        asked = self.scenario(range(len(self.commands)))
        steps = round(rate * self.seconds)
        (given,) = asked.asked(self.policy.contract, steps).values()
        return {name: own for (name, _), own in zip(self.names, given, strict=True)}

    def scenario(self, which: range | list[int]) -> Scenario:
        """Some of the walks, an episode each."""
        asked = tuple(tuple(map(float, self.commands[i].ravel())) for i in which)
        return Scenario(episodes=len(asked), seconds=self.seconds, commands=asked)

    def fingerprint(self) -> str:
        """Short hash of what is asked, of the contract and of the network."""
        facts = {"walks": self.names, "seconds": self.seconds}
        facts["contract"] = asdict(self.policy.contract)
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
        for file in _weights(self.policy.network.path):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:16]


def _weights(network: Path) -> list[Path]:
    """The graph, and the weights that lie beside it."""
    beside = network.with_name(network.name + ".data")
    return [network, *([beside] if beside.is_file() else [])]


def choose_walks(plan: CollectionPlan) -> Walks:
    """The walks of a plan: those it names, or as many drawn ones as its hours take."""
    robot = plan.load_robot()
    assert plan.policy is not None
    policy = Policy.load(plan.policy, robot)
    command = _command(policy)
    _refuse_unfit(plan, robot, policy)
    if plan.commands:
        given = Scenario(episodes=1, commands=plan.commands).choices(command)
        pairs = [(own, "command") for own in given]
    else:
        pairs = drawn_walks(command, _count(plan), plan.seed)
    commands, levels = zip(*pairs, strict=True)
    found = Walks(robot, policy, commands, levels, plan.seconds)
    names = [name for name, _ in found.names]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"two walks are {twice[0]!r}; name each command once")
    return found


def _command(policy: Policy) -> PolicyCommand:
    commands = policy.contract.commands
    if len(commands) != 1:
        asked = ", ".join(commands) or "nothing"
        raise DataError(
            f"{policy.name} is asked {asked}; walks are recorded of a policy with one command (a "
            "velocity). Record others with gapless evaluate --hidden typical --record DIR"
        )
    return next(iter(commands.values()))


def _refuse_unfit(plan: CollectionPlan, robot: Robot, policy: Policy) -> None:
    rate = policy.contract.rate
    if list(plan.rates) != [rate]:
        raise DataError(f"{policy.name} acts {rate:g} times a second; give --rates {rate:g}")
    if robot.mount != "free":
        raise DataError(
            f"a policy walks on the floor; {robot.name} is mounted {robot.mount!r} (use "
            "--mount free)"
        )


def _count(plan: CollectionPlan) -> int:
    """Distinct walks; one of each kind where no hours are asked for."""
    if plan.hours is None:
        return len(KINDS)
    return max(1, math.ceil(plan.hours * 3600 / plan.takes / plan.seconds - 1e-6))


def drawn_walks(command: PolicyCommand, count: int, seed: int) -> list[tuple[np.ndarray, str]]:
    """So many different commands of a trained range, kind after kind; more keep the first ones."""
    if len(command.lower) != 3:
        raise DataError(
            f"commands of {len(command.lower)} numbers are not drawn; name them with --command"
        )
    found: dict[str, tuple[np.ndarray, str]] = {}
    for drawn, kind in zip(range(TRIES + 4 * count), cycle(KINDS), strict=False):
        asked = _asked(generator(seed, "walk", drawn), kind, command)
        if asked.any() or kind == "standing":  # else a range that lacks this kind
            found.setdefault(in_words(asked), (asked, kind))
        if len(found) == count:
            return list(found.values())
    raise DataError(
        f"the trained range has no {count} different commands; give fewer --hours or more --repeats"
    )


def _asked(rng: np.random.Generator, kind: str, command: PolicyCommand) -> np.ndarray:
    """(k, C) one command, or several that differ."""
    if kind != "changing":
        return _one(rng, kind, command)[None]
    first, then = (_one(rng, str(k), command) for k in rng.choice(list(DRAWN), 2, replace=False))
    return np.stack([first, then] if (first != then).any() else [first])


def _one(rng: np.random.Generator, kind: str, command: PolicyCommand) -> np.ndarray:
    share = np.array([rng.uniform(*bounds) for bounds in DRAWN[kind]])
    if kind in ("sideways", "turning"):
        share = share * rng.choice([-1.0, 1.0])
    return shared(share, np.array(command.lower), np.array(command.upper)).round(DIGITS) + 0.0
