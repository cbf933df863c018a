"""InvertedPolicy: a policy that sends what a robot, by its correction, makes its own targets of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gapless.corrections.runtime.applied import Applied
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.runtime.inversion import METHODS, InversionCount, invert
from gapless.corrections.runtime.signals import BASE, Signals, of_state
from gapless.corrections.runtime.usage import Usage
from gapless.errors import DataError, ModelError, unknown
from gapless.policies import Policy, PolicyController
from gapless.policies.controller import Anchor
from gapless.policies.terms import Readings


@dataclass(frozen=True, eq=False)
class InvertedPolicy(Policy):
    """The same policy for the robot itself; it needs no training, and no correction in the world.

    Example:
        better = InvertedPolicy.of(policy, run.correction, "gradient")
        evaluate(better, target_world, motion=motion)

    Attributes:
        correction: of targets, what the robot makes of them.
        method: how it is inverted; see `corrections.runtime.inversion`.
        payload: mass that is carried, kg, where the correction looks at it; NaN is unknown.
        count: how often a command was found, and how often not.
    """

    correction: Correction
    method: str = METHODS[0]
    payload: float = float("nan")
    count: InversionCount = field(default_factory=InversionCount)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in METHODS:
            raise unknown("way to invert a correction", self.method, METHODS)
        head = self.correction.contract.head
        if head != "action":
            raise ModelError(
                f"this correction is of a {head}; only one of targets can be inverted: train it "
                "with --head action"
            )
        self.correction.contract.require_rate(self.contract.rate)

    @classmethod
    def of(
        cls,
        policy: Policy,
        correction: Correction,
        method: str = METHODS[0],
        payload: float | None = None,
    ) -> InvertedPolicy:
        """A policy with a correction of its robot."""
        carried = float("nan") if payload is None else payload
        given = policy.contract, policy.network, policy.source, correction, method, carried
        return cls(*given)

    def start(
        self,
        joints: Sequence[str],
        rest: np.ndarray,
        environments: int = 1,
        anchor: Anchor | None = None,
    ) -> PolicyController:
        """The policy at its first step; see `PolicyController`."""
        known = self.correction.contract.joints
        if tuple(joints) != known:
            raise ModelError(
                f"this correction is of {', '.join(known)}; the robot has {', '.join(joints)}: "
                "lock the same joints"
            )
        own = self.contract, self.network, joints, rest, environments, self.reference, anchor
        return InvertedController(self, environments, *own)


class InvertedController(PolicyController):
    """A controller whose targets are sent through the inverse of a correction.

    The policy remembers its own targets, as it did where it was trained.

    Args:
        policy: that is run.
        environments: how many robots.
        given: of `PolicyController`.
    """

    def __init__(self, policy: InvertedPolicy, environments: int, *given: object) -> None:
        self._policy = policy
        self._applied = Applied(policy.correction, policy.contract.rate, environments)
        self._usage = Usage.none(policy.correction.contract)
        self._seen: Signals = {}
        super().__init__(*given)  # type: ignore[arg-type]

    def forget(self, which: np.ndarray | None = None) -> None:
        """Begin anew in some environments; in all by default."""
        super().forget(which)
        rows = np.arange(len(self.step))
        self._applied.forget(rows if which is None or not len(which) else rows[which])

    def observe(self, readings: Readings, commands: Mapping[str, np.ndarray]) -> None:
        """Build what the network sees now, and keep what the correction does."""
        super().observe(readings, commands)
        asked = [s for s in self._policy.correction.contract.signals if s in BASE]
        if asked and readings.base_pos is None:
            raise DataError(
                f"this correction looks at {', '.join(asked)} of the base, which these readings "
                "do not have"
            )
        carried = np.full((len(readings.q), 1), self._policy.payload)
        self._seen = {**of_state(readings), "payload": carried}  # type: ignore[arg-type]

    def decide(self) -> np.ndarray:
        """(n, J) targets to send, rad."""
        wanted, policy = super().decide(), self._policy
        columns = policy.correction.contract.columns
        found, failed = invert(self._tried, wanted, columns, policy.method)
        self._applied.output({**self._seen, "target": found}, self._usage)  # what it remembers
        policy.count.add(wanted, found, failed)
        return found

    def _tried(self, target: np.ndarray) -> np.ndarray:
        return self._applied.tried({**self._seen, "target": target})
