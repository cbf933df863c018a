"""What is compared between a replay and a recording: joint angles, or positions of bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gapless.errors import ModelError
from gapless.measurement.windows import Windows
from gapless.robots import Kinematics, Robot, TrackingPoint
from gapless.robots.rotations import conj, mul, rotation_vector
from gapless.worlds.world import State, Trajectory

BASE_LENGTH = 0.3
"""Metres that the base is off which count as one radian of a joint."""

BASE_WEIGHT = 2.0
"""How much more each number of the base counts than a joint: all joints hang on it."""

UPPER_WEIGHT = 3.0
"""How much more a body of the upper body counts (HALO's alpha; the paper does not give it)."""

STATES_AT_ONCE = 50_000
"""Poses whose bodies are placed in one pass."""


class Residuals(Protocol):
    """Turns replays into errors."""

    count: float
    """Readings of all windows that are compared."""

    columns: np.ndarray
    """(R,) what each error is of: a joint, a number of the base, a coordinate of a body."""

    def __call__(self, played: Trajectory) -> np.ndarray:
        """(k, n, R) errors of (k, n, T, ...) replays, NaN after a divergence."""
        ...


class JointErrors:
    """Simulated minus recorded joint angles, rad; after them the base, where it was logged."""

    def __init__(self, robot: Robot, windows: Windows) -> None:
        self._real, self._weight = windows.real, windows.weight
        self._base = windows.base_weight * float(robot.mount == "free")
        used = (self._weight > 0).any(axis=-1).sum(axis=-1)
        self.count = float(self._weight.sum() + 6 * (used * (self._base > 0)).sum())
        steps, joints = self._weight.shape[1:]
        parts = [np.tile(np.arange(joints), steps)]
        parts += [np.tile(joints + np.arange(6), steps)] if self._base.any() else []
        self.columns = np.concatenate(parts)

    def __call__(self, played: Trajectory) -> np.ndarray:
        """(k, n, T·J), or (k, n, T·J + T·6) with the base."""
        errors = np.where(self._weight > 0, played.q - self._real.q, 0.0) * self._weight
        parts = [errors, self._of_base(played)] if self._base.any() else [errors]
        valid = played.valid[..., None]
        flat = [np.where(valid, p, np.nan).reshape(*p.shape[:2], -1) for p in parts]
        return np.concatenate(flat, axis=-1)

    def _of_base(self, played: Trajectory) -> np.ndarray:
        """(k, n, T, 6) how far the base is off and how much it is turned."""
        real = self._real
        assert played.base_pos is not None and real.base_pos is not None
        assert played.base_quat_wxyz is not None and real.base_quat_wxyz is not None
        away = (played.base_pos - real.base_pos) / BASE_LENGTH
        turned = rotation_vector(mul(conj(real.base_quat_wxyz), played.base_quat_wxyz))
        errors = BASE_WEIGHT * np.concatenate([away, turned], axis=-1)
        used = (self._weight > 0).any(axis=-1) & (self._base > 0)[:, None]
        return np.where(used[..., None], errors, 0.0)


class BodyErrors:
    """Simulated minus recorded positions of bodies, m: HALO's objective."""

    def __init__(self, robot: Robot, windows: Windows) -> None:
        points = compared_points(robot)
        upper = set(robot.link_groups.get("upper_body", ())) | _upper(robot)
        weights = np.array([UPPER_WEIGHT if p.body in upper else 1.0 for p in points])
        self._points, self._weights = points, np.sqrt(weights)[:, None]
        self._kinematics = Kinematics.of(robot)
        if robot.mount == "free" and windows.real.base_pos is None:
            raise ModelError("body positions of a free robot need a base pose; use joints")
        self._real = self._place(windows.real)
        # A reading that is missing leaves the whole pose unknown.
        self._usable = np.asarray((windows.weight > 0).all(axis=-1))
        self.count = float(self._usable.sum() * (3 * weights.sum()))
        self.columns = np.tile(np.arange(3 * len(points)), windows.steps)

    def _place(self, state: State) -> np.ndarray:
        """(..., P, 3) of states with any leading axes."""
        lead = state.q.shape[:-1]
        flat = [
            None if a is None else a.reshape(-1, a.shape[-1])
            for a in (state.q, state.base_pos, state.base_quat_wxyz)
        ]
        total, parts = len(flat[0]), []  # type: ignore[arg-type]
        for i in range(0, total, STATES_AT_ONCE):
            some = [None if a is None else a[i : i + STATES_AT_ONCE] for a in flat]
            parts.append(self._kinematics.points(*some, points=self._points))  # type: ignore[arg-type]
        return np.concatenate(parts).reshape(*lead, len(self._points), 3)

    def __call__(self, played: Trajectory) -> np.ndarray:
        """(k, n, T·P·3)."""
        errors = (self._place(played) - self._real) * self._weights
        errors = np.where(self._usable[..., None, None], errors, 0.0)
        errors = np.where(played.valid[..., None, None], errors, np.nan)
        return errors.reshape(*errors.shape[:2], -1)


def compared_points(robot: Robot) -> tuple[TrackingPoint, ...]:
    """The tracked points, or all links, and the hands."""
    tracked = robot.tracking or tuple(TrackingPoint(k, k) for k in robot.links)
    names = {p.name for p in tracked}
    return (*tracked, *(p for p in robot.end_effectors if p.name not in names))


def _upper(robot: Robot) -> set[str]:
    """Torso and hands."""
    hands = {*robot.link_groups.get("hands", ()), *(p.body for p in robot.end_effectors)}
    return hands | {link for link in robot.links if "torso" in link}


RESIDUALS: dict[str, Callable[[Robot, Windows], Residuals]] = {
    "joints": JointErrors,
    "bodies": BodyErrors,
}
"""Objective -> how its errors are formed."""
