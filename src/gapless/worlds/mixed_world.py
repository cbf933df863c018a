"""MixedWorld: environments of several worlds of one robot as one world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.worlds.world import Health, Identity, State, Trajectory, World


class MixedWorld:
    """Several worlds of one robot side by side; environment i is in world i modulo their number.

    Args:
        worlds: with the same joints and rate. Where environments are fewer, the last have none.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        if not worlds:
            raise DataError("there is no world to mix")
        self.worlds, self._environments = tuple(worlds), 0
        joints, rates = ({f(w) for w in worlds} for f in (_joints, lambda w: round(w.rate, 6)))
        if len(joints) > 1 or len(rates) > 1:
            raise DataError(
                f"worlds of {len(joints)} sets of joints and rates {sorted(rates)} cannot be mixed"
            )

    @property
    def robot(self) -> Robot:
        """The robot of the first world, which rewards and limits are taken from."""
        return self.worlds[0].robot

    @property
    def rate(self) -> float:
        """Control steps per second."""
        return self.worlds[0].rate

    @property
    def identity(self) -> Identity:
        """Of the first world, with the effects of all."""
        keys = "".join(world.identity.key for world in self.worlds)
        return replace(self.worlds[0].identity, effects_hash=keys)

    @property
    def history_steps(self) -> int:
        """The most of any world."""
        return max(world.history_steps for world in self.worlds)

    @property
    def busy(self) -> tuple[World, ...]:
        """The worlds that have environments; all of them before the first reset."""
        return self.worlds[: self._environments or None]

    @property
    def health(self) -> Health:
        """Of all environments."""
        found = [world.health for world in self.busy]
        return Health(self.mixed([h.diverged for h in found]), self.mixed([h.at for h in found]))

    def mixed(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Rows of the worlds' environments in the order of all."""
        mixed = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), parts[0].dtype)
        for k, part in enumerate(parts):
            mixed[k :: len(parts)] = part
        return mixed

    def _part(self, array: np.ndarray | None, k: int) -> np.ndarray | None:
        return None if array is None else array[k :: len(self.worlds)]

    def at_rate(self, rate: float) -> MixedWorld:
        """The same worlds with another control rate."""
        return MixedWorld([world.at_rate(rate) for world in self.worlds])

    def twin(self) -> MixedWorld:
        """Worlds of their own with the same figures."""
        return MixedWorld([world.twin() for world in self.worlds])

    def home(self, environments: int = 1) -> State:
        """The default pose at rest."""
        return self.worlds[0].home(environments)

    def reset(
        self,
        state: State,
        which: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
        history: np.ndarray | None = None,
    ) -> None:
        """Put environments into a state; see `World.reset`."""
        count, whole = len(self.worlds), which is None
        self._environments = len(state) if whole else self._environments
        rows = np.arange(self._environments)
        rows = rows if whole else rows[np.asarray(which)]
        for k, world in enumerate(self.busy):
            mine = np.flatnonzero(rows % count == k)
            if len(mine):
                told = None if conditions is None else [conditions[int(i)] for i in mine]
                past = None if history is None else history[mine]
                place = None if whole else rows[mine] // count
                world.reset(state[mine], place, told, past)

    def place(self, state: State) -> None:
        """Move all environments to another state."""
        for k, world in enumerate(self.busy):
            world.place(state[k :: len(self.worlds)])

    def use_conditions(self, conditions: Sequence[Conditions]) -> None:
        """Give each environment other loads and gains; all else goes on as it was."""
        for k, world in enumerate(self.busy):
            world.use_conditions(conditions[k :: len(self.worlds)])

    def push(self, velocity: np.ndarray, which: np.ndarray | None = None) -> None:
        """Add a velocity to the bases of environments."""
        count, rows = len(self.worlds), np.arange(self._environments)
        rows = rows if which is None else rows[np.asarray(which)]
        for k, world in enumerate(self.busy):
            mine = np.flatnonzero(rows % count == k)
            if len(mine):
                world.push(velocity[mine], rows[mine] // count)

    def step(self, target: np.ndarray, torque: np.ndarray | None = None) -> State:
        """Hold targets for one control step, in every world."""
        found = [
            world.step(target[k :: len(self.worlds)], self._part(torque, k)).fields
            for k, world in enumerate(self.busy)
        ]
        names = [name for name in found[0] if all(name in part for part in found)]
        return State(**{name: self.mixed([part[name] for part in found]) for name in names})

    def rollout(
        self,
        state: State,
        targets: np.ndarray,
        *,
        torques: np.ndarray | None = None,
        history: np.ndarray | None = None,
        conditions: Sequence[Conditions] | None = None,
    ) -> Trajectory:
        """Play targets from a state; see `World.rollout`."""
        count = len(self.worlds)
        found = [
            world.rollout(
                state[k::count],
                targets[k::count],
                torques=self._part(torques, k),
                history=self._part(history, k),
                conditions=None if conditions is None else list(conditions)[k::count],
            ).fields
            for k, world in enumerate(self.worlds[: len(state)])
        ]
        names = [name for name in found[0] if all(name in part for part in found)]
        return Trajectory(**{name: self.mixed([part[name] for part in found]) for name in names})


def _joints(world: World) -> tuple[str, ...]:
    return world.robot.joints.names
