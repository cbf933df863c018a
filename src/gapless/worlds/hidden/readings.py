"""What a robot's log shows of its state: late, noisy, in steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.worlds.world import Trajectory

FILTER_SECONDS = 0.01
"""Drives differentiate positions over about this time: velocity noise is position noise by it."""


@dataclass(frozen=True)
class Sensors:
    """The measuring side of a robot, (J,) arrays.

    Attributes:
        delay: age of a sample when it is logged, s.
        noise: sigma of positions, rad; velocities get it divided by the drives' filter time.
        resolution: step of the encoder, rad; 0 is none.
        strength: share of torque a motor gives. Logs show the torque its current would give
            nominally, which is more.
    """

    delay: float
    noise: np.ndarray
    resolution: np.ndarray
    strength: np.ndarray

    def log(
        self, true: Trajectory, rate: float, generators: Sequence[np.random.Generator]
    ) -> Trajectory:
        """The trajectory as the log shows it; one generator an environment."""
        seen = late(true, self.delay, rate) if self.delay else true
        q, dq = seen.q, seen.dq
        if self.noise.any():
            drawn = np.stack([g.standard_normal((2, *q.shape[1:])) for g in generators])
            q = q + self.noise * drawn[:, 0]
            dq = dq + self.noise / FILTER_SECONDS * drawn[:, 1]
        if self.resolution.any():
            q = _stepped(q, self.resolution)
        torque = None if seen.torque is None else seen.torque / self.strength
        return replace(seen, q=q, dq=dq, torque=torque)


def _stepped(q: np.ndarray, resolution: np.ndarray) -> np.ndarray:
    step = np.where(resolution > 0, resolution, 1.0)
    return np.where(resolution > 0, np.round(q / step) * step, q)


def late(true: Trajectory, seconds: float, rate: float) -> Trajectory:
    """The state some time ago; before the start, the start."""
    at = np.clip(np.arange(true.q.shape[1]) - seconds * rate, 0, None)
    before = np.minimum(at.astype(int), true.q.shape[1] - 2)
    part = (at - before)[None, :, None]
    q, dq = _between(true.q, true.dq, before, part, rate)
    arrays = {
        name: _straight(array, before, part)
        for name, array in true.start().fields.items()
        if name not in ("q", "dq")
    }
    return replace(true, q=q, dq=dq, **arrays)


def _between(
    q: np.ndarray, dq: np.ndarray, before: np.ndarray, part: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity between samples: the cubic that fits both at both ends."""
    a, b = q[:, before], q[:, before + 1]
    va, vb = dq[:, before] / rate, dq[:, before + 1] / rate
    curve, bend = 3 * (b - a) - 2 * va - vb, va + vb - 2 * (b - a)
    position = a + part * (va + part * (curve + part * bend))
    return position, (va + part * (2 * curve + 3 * part * bend)) * rate


def _straight(array: np.ndarray, before: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Linear between samples; quaternions are near each other and are made unit again."""
    mixed = (1 - part) * array[:, before] + part * array[:, before + 1]
    if array.shape[-1] == 4:
        mixed = mixed / np.linalg.norm(mixed, axis=-1, keepdims=True)
    return mixed
