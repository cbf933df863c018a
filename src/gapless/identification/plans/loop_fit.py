"""A fit in the loop: figures moved until a known policy takes the simulated robot where it went.

Replays of half a second leave open much that decides about balance. A policy in the loop keeps a
robot on its feet for as long as it likes, so that whole takes can be fitted: by their mean path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate
from gapless.parameters import Parameter
from gapless.parameters.motors import motor_of
from gapless.progress import Progress, Watch
from gapless.robots import Robot
from gapless.worlds.world import World

ITERATIONS = 3
STEP = 0.3
"""Of a finite difference, in prior std: falls and touches make smaller ones say nothing."""
PULL = 0.5
"""Towards what replays found, per prior std."""
SIZE = 0.02
"""What counts as one prior std of an estimate, m."""
MOST = 60
"""Figures that are moved one by one: each costs a play of all takes an iteration."""
TRIES = 4
"""Steps that are tried before an iteration gives up, each shorter than the last."""


class RecordedPath(Protocol):
    """Takes of a robot under a known policy."""

    @property
    def chance(self) -> float:
        """Share by which two plays of one simulator may differ."""
        ...

    def error(self, world: World) -> float:
        """How far a world is from them, m."""
        ...

    def residuals(self, world: World) -> np.ndarray:
        """(R,) the same as numbers whose squares add up, m²."""
        ...


@dataclass(frozen=True)
class _Point:
    moved: np.ndarray
    residual: np.ndarray

    @property
    def cost(self) -> float:
        return float(self.residual @ self.residual + PULL**2 * self.moved @ self.moved)


class LoopFit:
    """Levenberg-Marquardt on the figures of a calibration.

    Args:
        begun: what replays found.
        world: that a calibration makes.
        loop: what the worlds are compared with.
        watch: told after every play.
        together: (D, P) which figures move as one; each by itself by default.
    """

    def __init__(
        self,
        begun: Calibration,
        world: Callable[[Calibration], World],
        loop: RecordedPath,
        watch: Watch | None = None,
        together: np.ndarray | None = None,
    ) -> None:
        self.begun, self._world, self._loop, self._watch = begun, world, loop, watch
        self._z = np.array([e.parameter.z_of(e.value) for e in begun.estimates])
        self._together = np.eye(len(self._z)) if together is None else together
        self._plays, self._damping = 0, 1.0
        self._left = np.eye(len(self._together))

    def found(self) -> Calibration:
        """The calibration at the best point; intervals reach back to where it began.

        Those of figures that nobody knew are what the last slopes leave of their spread.
        """
        here = self._at(np.zeros(len(self._together)))
        for _ in range(ITERATIONS):
            there = self._stepped(here)
            if there is here:
                break
            here = there
        moved = self._moved(here.moved)
        return self._with_intervals(moved)

    def _with_intervals(self, moved: Calibration) -> Calibration:
        """Figures that move by themselves, and that replays said nothing of, get their own."""
        alone = (self._together > 0).sum(axis=1) @ self._together == 1
        new = alone & ~np.array([e.identifiable for e in self.begun.estimates], bool)
        spread = self._together.T @ self._left @ self._together
        left = np.sqrt(np.diag(spread))
        correlation = moved.correlation.copy()
        correlation[np.ix_(new, new)] = (spread / np.outer(left, left))[np.ix_(new, new)]
        rows = zip(moved.estimates, self.begun.estimates, new, left, strict=True)
        estimates = tuple(
            _of_the_path(now, float(share)) if own else _widened(now, before)
            for now, before, own, share in rows
        )
        return replace(moved, estimates=estimates, correlation=correlation)

    def _moved(self, by: np.ndarray) -> Calibration:
        """The calibration that is so many prior std away."""
        rows = zip(self.begun.estimates, self._z + by @ self._together, strict=True)
        return self.begun.with_values({e.name: float(e.parameter.value_of(z)) for e, z in rows})

    def _at(self, by: np.ndarray) -> _Point:
        residual = self._loop.residuals(self._world(self._moved(by))) / SIZE
        self._plays += 1
        if self._watch:
            error = SIZE * float(np.linalg.norm(residual))
            self._watch(Progress("closed loop", self._plays, figures={"path error": error}))
        return _Point(by, residual)

    def _stepped(self, here: _Point) -> _Point:
        """One iteration; where no step is better, the same point."""
        slopes = self._slopes(here)
        normal = slopes.T @ slopes + PULL**2 * np.eye(len(slopes.T))
        gradient = slopes.T @ here.residual + PULL**2 * here.moved
        self._left = PULL**2 * np.linalg.inv(normal)
        for _ in range(TRIES):
            damped = normal + self._damping * np.eye(len(normal))
            there = self._at(here.moved - np.linalg.solve(damped, gradient))
            if there.cost < here.cost:
                self._damping /= 3
                return there
            self._damping *= 4
        return here

    def _slopes(self, here: _Point) -> np.ndarray:
        """(R, D) by finite differences, away from bounds."""
        columns = []
        for k in range(len(self._together)):
            step = STEP if self._reach(here, k, STEP) > self._reach(here, k, -STEP) / 2 else -STEP
            by = here.moved.copy()
            by[k] += step
            columns.append((self._at(by).residual - here.residual) / step)
        return np.stack(columns, axis=1)

    def _reach(self, here: _Point, k: int, step: float) -> float:
        """How far bounds let the figures of a direction go, as a share of their spread."""
        z, found = self._z + here.moved @ self._together, 0.0
        for i in np.flatnonzero(self._together[k]):
            p = self.begun.estimates[i].parameter
            found += abs(float(p.value_of(z[i] + step) - p.value_of(z[i]))) / p.prior_std
        return found


def by_motor(estimates: Sequence[Estimate], robot: Robot) -> np.ndarray:
    """(D, P) figures of one kind whose joints have the same motor, as one direction each.

    But zeros, which no motor shares.
    """
    keys = [_motor_key(e.parameter, robot) for e in estimates]
    known = list(dict.fromkeys(keys))
    return np.array([[float(key == own) for key in keys] for own in known])


def _motor_key(parameter: Parameter, robot: Robot) -> tuple[object, ...]:
    joint = parameter.joint
    if not joint or parameter.kind == "encoder_bias":
        return (parameter.name,)
    return parameter.kind, motor_of(robot, joint)


def _widened(now: Estimate, before: Estimate) -> Estimate:
    """Two kinds of data that disagree: neither is trusted more than the distance between them."""
    std = float(np.hypot(before.std, now.value - before.value))
    return replace(now, std=std, at_bound=_at_bound(now))


def _of_the_path(now: Estimate, left: float) -> Estimate:
    """A figure that the path alone tells: `left` of what was unknown is still so."""
    std = left * float(now.parameter.per_z(now.value))
    return replace(now, std=std, identifiable=True, at_bound=_at_bound(now))


def _at_bound(now: Estimate) -> bool:
    return now.value in (now.parameter.lower, now.parameter.upper)
