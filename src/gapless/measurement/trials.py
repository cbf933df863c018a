"""Trials: windows that are cut once and replayed in one altered simulator after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.measurement.alignment import gains_of, in_robot_order
from gapless.measurement.spans import spans_of
from gapless.measurement.windows import LONGEST_DELAY, Windows, cut, smooth_starts
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds.effects import Effects
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.world import State


@dataclass(frozen=True)
class Alteration:
    """What causes change, all of them together: one world is built for it.

    Attributes:
        robot: that is simulated.
        effects: of its actuators.
        conditions: loads and gains of each recording.
        start: where each window starts.
    """

    robot: Robot
    effects: Effects
    conditions: tuple[Conditions, ...]
    start: State


class Trials:
    """Windows of recordings, and what altered simulators make of them.

    Attributes:
        world: the nominal simulator.
        windows: what is replayed, from the states that were read.
        nominal: nothing altered.
        horizon: seconds of each.
    """

    def __init__(
        self, recordings: Sequence[Recording], world: EngineWorld, horizon: float, limit: int
    ) -> None:
        self.world, self.horizon = world, horizon
        self.recordings = recordings
        self.aligned = [in_robot_order(r, world.robot) for r in recordings]
        spans = [spans_of(a.valid, world.rate, horizon, limit) for a in self.aligned]
        jobs = [(i, int(a), int(b)) for i, found in enumerate(spans) for a, b in found]
        if not jobs:
            raise DataError(f"no unbroken stretch of {horizon:g} s to attribute an error in")
        before = max(world.history_steps, int(np.ceil(LONGEST_DELAY * world.rate)) + 1)
        self._first = [(i, a) for i, a, _ in jobs]
        self.windows: Windows = cut(jobs, self.aligned, before, world.rate)
        self.nominal = Alteration(
            world.robot,
            world.effects,
            tuple(a.conditions for a in self.aligned),
            self.windows.start,
        )

    def errors(self, altered: Alteration) -> np.ndarray:
        """(n, T, J) simulated minus real positions, rad; NaN where they may not be compared."""
        windows = self.windows
        conditions = [altered.conditions[i] for i in windows.recording]
        targets = self._targets(altered)
        sim = self._world(altered).rollout(
            altered.start,
            targets[:, windows.before :],
            history=targets[:, : windows.before],
            conditions=conditions,
        )
        good = (windows.weight > 0) & sim.valid[:, 1:, None]
        return np.where(good, sim.q[:, 1:] - windows.real.q, np.nan)

    def smoothed(self) -> State:
        """(n, ...) where windows start on a cubic through the readings; as read where it fails."""
        both = zip(self.recordings, self.aligned, strict=True)
        states = [smooth_starts(clip, a, self.world.robot) for clip, a in both]
        smooth = State.stack([states[i][a] for i, a in self._first])
        known = np.all([np.isfinite(x).all(axis=1) for x in smooth.fields.values()], axis=0)
        return self.windows.start.with_rows(known, smooth[known])

    def _world(self, altered: Alteration) -> EngineWorld:
        if altered.robot is self.nominal.robot and altered.effects is self.nominal.effects:
            return self.world
        return self.world.variant(robot=altered.robot, effects=altered.effects)

    def _targets(self, altered: Alteration) -> np.ndarray:
        """Commands folded into positions by the gains that are in force."""
        commands = self.windows.commands
        gains = [gains_of(conditions, altered.robot) for conditions in altered.conditions]
        kp, kd = (np.stack([own[i] for own in gains])[self.windows.recording] for i in range(2))
        return commands.folded(kp[:, None], kd[:, None])
