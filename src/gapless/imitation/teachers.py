"""Teachers: trackers of one robot that agree in what they see and command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.artifact import file_name
from gapless.errors import DataError
from gapless.motions.motion_frames import MotionFrames
from gapless.policies import Policy
from gapless.policies.policy_contract import PolicyContract

AGREED: dict[str, Callable[[PolicyContract], Any]] = {
    "robot": lambda c: c.robot,
    "rate": lambda c: c.rate,
    "joints": lambda c: c.joints,
    "kp": lambda c: c.kp,
    "kd": lambda c: c.kd,
    "default pose": lambda c: tuple(c.pose),
    "held joints": lambda c: dict(c.hold),
    "meaning of actions": lambda c: c.action,
    "observation": lambda c: (dict(c.terms), c.blocks),
    "anchor": lambda c: c.anchor,
}
"""What one student can only have one of."""


@dataclass(frozen=True, eq=False)
class Teacher:
    """A tracker and its motion.

    Attributes:
        policy: ours or other people's.
        frames: of the motion that it follows.
    """

    policy: Policy
    frames: MotionFrames

    @property
    def name(self) -> str:
        """Of the tracker, by which a student knows the motion: those of files are seldom short."""
        return self.policy.name

    def act(self, seen: np.ndarray) -> np.ndarray:
        """(n, A) what it does where a student sees this; the student's last terms are its own."""
        contract, network = self.policy.contract, self.policy.network
        own = seen[:, : contract.width]
        if contract.mean:
            own = (own - np.array(contract.mean)) / np.array(contract.std)
        own = own if contract.clip is None else np.clip(own, *contract.clip)
        action, _ = network.run(own, {}, np.zeros(len(own), int))
        return action


def require_agreement(teachers: Sequence[Teacher]) -> None:
    """Refuse teachers that one student cannot imitate, with what differs."""
    if not teachers:
        raise DataError("there is no teacher; give one tracker or more")
    for teacher in teachers:
        _require_memoryless(teacher.policy)
    first, *others = teachers
    for what, read in AGREED.items():
        mine = read(first.policy.contract)
        for other in others:
            if read(other.policy.contract) != mine:
                raise DataError(_differ(what, first.policy, other.policy, read))
    names = [file_name(teacher.name) for teacher in teachers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{names.count(twice[0])} teachers are called {twice[0]!r}; a student knows its "
            "motions by the names of its teachers: give each folder or contract its own"
        )


def _require_memoryless(policy: Policy) -> None:
    if policy.network.ports.states:
        raise DataError(
            f"teacher {policy.name!r} has a memory ({', '.join(policy.network.ports.states)}), "
            "which a student has none of; give a tracker without one"
        )


def _differ(what: str, one: Policy, other: Policy, read: Callable[[PolicyContract], Any]) -> str:
    values = [read(policy.contract) for policy in (one, other)]
    short = all(isinstance(v, str | float | int) for v in values)
    told = f": {values[0]!r} and {values[1]!r}" if short else ""
    return (
        f"teachers {one.name!r} and {other.name!r} differ in their {what}{told}. One student sees "
        "and commands one thing: give trackers of the same robot, rate and preset"
    )
