"""Attribution: how much of each joint's error each likely cause explains.

Every candidate cause is simulated on the recording's own windows; what it changes is the direction
in which it can move the simulator. The error is then explained, joint by joint, by as few of these
directions as do it, and the cause is simulated again at the size found, since most are not linear.
Only the recordings and the nominal robot are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from gapless.measure.causes import Cause, Scale, causes_of
from gapless.measure.replay import Replay, replay
from gapless.recordings.recording import Recording
from gapless.worlds.mujoco import MujocoWorld

ROUNDS = 3
WORTHWHILE = 0.02
"""A further cause must explain this share of a joint's error to be named."""


@dataclass(frozen=True)
class Attribution:
    """Shares of the squared replay error.

    Attributes:
        causes: names, the columns of the arrays; units of the amplitudes beside them.
        joints: names, the rows.
        share: (J, C) share of a joint's squared error that a cause explains.
        amplitude: (J, C) how large the cause would have to be, in its unit.
        weight: (J,) each joint's part of the whole squared error.
        horizon: seconds replayed.
        windows: how many.
    """

    causes: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    share: np.ndarray
    amplitude: np.ndarray
    weight: np.ndarray
    horizon: float
    windows: int

    @property
    def remains(self) -> np.ndarray:
        """(J,) share that no cause explains."""
        return 1.0 - self.share.sum(axis=1)

    @property
    def overall(self) -> dict[str, float]:
        """Share of the whole error for each cause, largest first; "remains" is last."""
        known = np.isfinite(self.share).all(axis=1)
        total = (self.weight[known, None] * self.share[known]).sum(axis=0)
        ranked = sorted(zip(self.causes, total.tolist(), strict=True), key=lambda c: -c[1])
        return {**dict(ranked), "remains": float(self.weight[known].sum() - total.sum())}

    @property
    def ranking(self) -> tuple[str, ...]:
        """Causes, the one that explains most first."""
        return tuple(c for c in self.overall if c != "remains")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "horizon": self.horizon,
            "windows": self.windows,
            "overall": self.overall,
            "units": dict(zip(self.causes, self.units, strict=True)),
            "joints": {
                joint: {
                    "weight": float(self.weight[j]),
                    "share": dict(zip(self.causes, self.share[j].tolist(), strict=True)),
                    "amplitude": dict(zip(self.causes, self.amplitude[j].tolist(), strict=True)),
                    "remains": float(self.remains[j]),
                }
                for j, joint in enumerate(self.joints)
                if np.isfinite(self.share[j]).all()
            },
        }


def attribute(
    recordings: Sequence[Recording],
    world: MujocoWorld,
    horizon: float = 0.5,
    max_windows: int = 160,
) -> Attribution:
    """Attribute the replay error of recordings to causes.

    Args:
        recordings: with commands, of the world's robot and rate.
        world: the nominal simulator.
        horizon: seconds replayed from recorded states.
        max_windows: evenly chosen over the recordings; more is slower and steadier.
    """
    chosen = _spread(recordings, max_windows)
    limit = max(1, max_windows // max(1, len(chosen)))
    base = replay(chosen, world, horizon, limit)
    scale = Scale(
        error=_rms(_errors(base)),
        speed=_rms(_speeds(base)),
        rate=world.rate,
        mass=float(world.model.body_mass.sum()),
    )
    causes = causes_of(world)
    size = [c.first(world.robot, scale) for c in causes]
    weight = _weights(_errors(base))
    for last in (*[False] * (ROUNDS - 1), True):
        moved = np.stack(
            [
                _moved(cause, amount, chosen, world, horizon, limit, base)
                for cause, amount in zip(causes, size, strict=True)
            ],
            axis=-1,
        )
        shares, factors = _explain(_errors(base), moved, _bounds(causes, size, world))
        if not last:
            size = [
                _next_size(cause, amount, factors[:, c], weight)
                for c, (cause, amount) in enumerate(zip(causes, size, strict=True))
            ]
    names = tuple(dict.fromkeys(c.name for c in causes))
    member = np.array([[c.name == name for name in names] for c in causes], float)
    return Attribution(
        causes=names,
        units=tuple(next(c.unit for c in causes if c.name == name) for name in names),
        joints=world.robot.joints.names,
        share=shares @ member,
        amplitude=(np.stack(size, axis=1) * factors) @ member,
        weight=weight,
        horizon=horizon,
        windows=sum(len(r.starts) for r in base),
    )


def _bounds(causes: Sequence[Cause], size: list[np.ndarray], world: MujocoWorld) -> np.ndarray:
    """(2, J, C) smallest and largest factor a probe may grow by."""
    pairs = list(zip(causes, size, strict=True))
    low = np.stack([c.lowest(world.robot) / s for c, s in pairs], axis=-1)
    high = np.stack([c.highest / s for c, s in pairs], axis=-1)
    return np.stack([low, high])


def _spread(recordings: Sequence[Recording], most: int) -> list[Recording]:
    """Up to `most` recordings, evenly chosen; only these are read."""
    count = min(most, len(recordings))
    return [recordings[i] for i in np.linspace(0, len(recordings) - 1, count).round().astype(int)]


def _errors(replays: list[Replay]) -> np.ndarray:
    """(N, J) simulated minus real position of all windows, NaN where it may not be used."""
    return np.concatenate([r.error[:, 1:].reshape(-1, r.error.shape[-1]) for r in replays])


def _speeds(replays: list[Replay]) -> np.ndarray:
    return np.concatenate([r.real.dq[:, 1:].reshape(-1, r.error.shape[-1]) for r in replays])


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.nan_to_num(values**2).sum(axis=0) / np.maximum(1, np.isfinite(values).sum(0)))


def _weights(error: np.ndarray) -> np.ndarray:
    energy = np.nan_to_num(error**2).sum(axis=0)
    return energy / max(energy.sum(), 1e-30)


def _moved(
    cause: Cause,
    size: np.ndarray,
    recordings: list[Recording],
    world: MujocoWorld,
    horizon: float,
    limit: int,
    base: list[Replay],
) -> np.ndarray:
    """(N, J) how the simulator moves under a cause of this size, rad."""
    robot = world.robot
    changed = [cause.load(r, robot, size) if cause.load else r for r in recordings]
    played = replay(changed, cause.apply(world, size), horizon, limit)
    pairs: Iterator[tuple[Replay, Replay]] = zip(played, base, strict=True)
    parts = [np.where(a.usable & b.usable, a.sim.q - b.sim.q, np.nan)[:, 1:] for a, b in pairs]
    return np.concatenate([p.reshape(-1, p.shape[-1]) for p in parts])


def _explain(
    error: np.ndarray, moved: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(J, C) shares of each joint's squared error, and the factors the probes should grow by."""
    joints, causes = error.shape[1], moved.shape[2]
    shares = np.full((joints, causes), np.nan)
    factors = np.zeros((joints, causes))
    for j in range(joints):
        good = np.isfinite(error[:, j]) & np.isfinite(moved[:, j]).all(axis=1)
        wanted = -error[good, j]
        if good.any() and (wanted**2).sum() > 0:
            shares[j], factors[j] = _few_causes(moved[good, j], wanted, bounds[:, j])
    return shares, factors


def _few_causes(
    columns: np.ndarray, wanted: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Explain `wanted` by the fewest columns: add the best one while it is worthwhile.

    Returns:
        (C,) shares of the squared norm, summing to R², and (C,) factors.
    """
    total = float(wanted @ wanted)
    # A probe that hardly moves the joint could only explain it at an absurd size.
    acts = np.linalg.norm(columns, axis=0) > 1e-3 * np.sqrt(total)
    chosen: list[int] = []
    factors, shares = np.zeros(columns.shape[1]), np.zeros(columns.shape[1])
    while True:
        rest = [c for c in range(columns.shape[1]) if c not in chosen and acts[c]]
        if not rest:
            break
        trials = {c: _fit(columns, wanted, bounds, [*chosen, c]) for c in rest}
        gains = {c: _total_share(trials[c], columns, wanted) for c in rest}
        best = max(gains, key=lambda c: gains[c])
        if gains[best] - shares.sum() < WORTHWHILE:
            break
        chosen.append(best)
        factors = trials[best]
        shares = factors * (columns.T @ wanted) / total
    return shares, factors


def _total_share(factors: np.ndarray, columns: np.ndarray, wanted: np.ndarray) -> float:
    """R² of a fit; none at all where a cause would only serve to undo another."""
    shares = factors * (columns.T @ wanted) / (wanted @ wanted)
    return float(shares.sum()) if (shares > -1e-9).all() else -np.inf


def _fit(
    columns: np.ndarray, wanted: np.ndarray, bounds: np.ndarray, chosen: list[int]
) -> np.ndarray:
    """Bounded least squares on some columns; (C,) factors, zero for the others."""
    norm = np.linalg.norm(columns[:, chosen], axis=0)
    norm = np.where(norm > 0, norm, 1.0)
    low, high = bounds[:, chosen] * norm
    low, high = np.minimum(low, 0.0) - 1e-12, np.maximum(high, 0.0) + 1e-12
    found = lsq_linear(columns[:, chosen] / norm, wanted, bounds=(low, high), method="bvls").x
    factors = np.zeros(columns.shape[1])
    factors[chosen] = found / norm
    return factors


def _next_size(
    cause: Cause, size: np.ndarray, factor: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Move a probe to the size found; where the cause was not chosen, keep it.

    Probes stay positive: a cause that is smaller than nominal shows as a negative factor.
    """
    growth = np.clip(np.abs(factor), 0.05, 5)
    if cause.shared:
        named = weight * (factor != 0)
        size = size * (named @ growth / named.sum() if named.sum() > 0 else 1.0)
    else:
        size = np.where(factor != 0, size * growth, size)
    return np.minimum(size, 0.95 * cause.highest)
