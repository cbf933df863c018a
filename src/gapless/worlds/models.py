"""The compiled models of environments: the nominal one, and those under conditions of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import mujoco

from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.robots.rewrite import Rewriter

MODELS_KEPT = 1024
"""Compiled models of payloads and gains that are kept for the next batch."""


class Models:
    """Models of one robot, made once for each payload and set of gains.

    Args:
        robot: whose models they are.
        rewriter: of a robot that differs from it in figures only.
    """

    def __init__(self, robot: Robot, rewriter: Rewriter) -> None:
        self._robot, self._rewriter = robot, rewriter
        self._kept: dict[tuple, mujoco.MjModel] = {}

    @classmethod
    def compile(
        cls, robot: Robot, timestep: float, options: Mapping[str, int] | None = None
    ) -> Models:
        """Models of a robot that is compiled now, with this physics step, s, and `mjOption`s."""
        rewriter = Rewriter(robot, timestep, options)
        made = cls(robot, rewriter)
        made.nominal = rewriter.compiled
        return made

    def of_robot(self, robot: Robot) -> Models:
        """The models of a robot that differs in figures only; nothing is compiled for them."""
        return Models(robot, self._rewriter)

    @cached_property
    def nominal(self) -> mujoco.MjModel:
        """The model of an environment without conditions of its own."""
        return self._rewriter.model(self._robot)

    def of_environments(
        self, environments: int, conditions: Sequence[Conditions] | None
    ) -> list[mujoco.MjModel]:
        """One model an environment; the nominal one where an environment has no conditions."""
        if conditions is None:
            return [self.nominal] * environments
        if len(conditions) != environments:
            raise SimulationError(f"{len(conditions)} conditions for {environments} environments")
        return [self._under(c) for c in conditions]

    def _under(self, conditions: Conditions) -> mujoco.MjModel:
        own = self._robot.payloads
        payloads = own if conditions.payloads is None else conditions.payloads
        if payloads == own and not conditions.gains:
            return self.nominal
        key = (tuple(sorted(payloads.items())), tuple(sorted(conditions.gains.items())))
        if key not in self._kept:
            robot = self._robot.with_payloads(payloads).with_gains(conditions.gains)
            if len(self._kept) >= MODELS_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = self._rewriter.model(robot)
        return self._kept[key]
