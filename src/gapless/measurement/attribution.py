"""Attribution: how much of each joint's error each likely cause explains.

Every candidate cause is simulated on the recording's own windows; what it changes is the direction
in which it can move the simulator. The error is explained, joint by joint, by as few of these
directions as do it. The simulator is then changed by what was found, and what is left is explained
again, since most causes are not linear and some hide behind others. Only the recordings and the
nominal robot are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.causes import Scale, causes_of
from gapless.measurement.explain import explain
from gapless.measurement.replay import Replay, replay
from gapless.measurement.spans import spans_of
from gapless.recordings.recording import Recording, Recordings
from gapless.worlds.engine_world import EngineWorld

ROUNDS = 4
"""How many causes a joint may take up."""
FARTHEST = 5.0
"""How many probes a round may move; what moves further does so in the next round."""
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
        at_bound: (J, C) True where a cause is as large as it may be; its true size is not known.
        loads: link -> mass of a load there that would explain the gravity share, kg.
        horizon: seconds replayed.
        windows: how many.
    """

    causes: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    share: np.ndarray
    amplitude: np.ndarray
    weight: np.ndarray
    at_bound: np.ndarray
    loads: dict[str, float]
    horizon: float
    windows: int

    @property
    def unexplained(self) -> np.ndarray:
        """(J,) share that is left when all causes are simulated together."""
        return 1.0 - self.share.sum(axis=1)

    @property
    def overall(self) -> dict[str, float]:
        """Share of the whole error for each cause, largest first; "unexplained" is last."""
        known = np.isfinite(self.share).all(axis=1)
        total = (self.weight[known, None] * self.share[known]).sum(axis=0)
        ranked = sorted(zip(self.causes, total.tolist(), strict=True), key=lambda c: -c[1])
        return {**dict(ranked), "unexplained": float(self.weight[known].sum() - total.sum())}

    @property
    def ranking(self) -> tuple[str, ...]:
        """Causes, the one that explains most first."""
        return tuple(c for c in self.overall if c != "unexplained")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "horizon": self.horizon,
            "windows": self.windows,
            "overall": self.overall,
            "loads": self.loads,
            "units": dict(zip(self.causes, self.units, strict=True)),
            "joints": {
                joint: {
                    "weight": float(self.weight[j]),
                    "share": dict(zip(self.causes, self.share[j].tolist(), strict=True)),
                    "amplitude": dict(zip(self.causes, self.amplitude[j].tolist(), strict=True)),
                    "at_bound": [
                        c for c, b in zip(self.causes, self.at_bound[j], strict=True) if b
                    ],
                    "unexplained": float(self.unexplained[j]),
                }
                for j, joint in enumerate(self.joints)
                if np.isfinite(self.share[j]).all()
            },
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], joints: Sequence[str]) -> Attribution:
        """Inverse of `to_dict`.

        Args:
            data: what that gave, or its JSON.
            joints: the rows, those included that had no error to explain.
        """
        causes = tuple(data["units"])
        none = {"weight": 0.0, "at_bound": ()}
        rows = [data["joints"].get(joint, none) for joint in joints]

        def table(key: str, absent: float) -> np.ndarray:
            return np.array([[row.get(key, {}).get(c, absent) for c in causes] for row in rows])

        return cls(
            causes=causes,
            units=tuple(data["units"].values()),
            joints=tuple(joints),
            share=table("share", np.nan).astype(float),
            amplitude=table("amplitude", 0.0).astype(float),
            weight=np.array([row["weight"] for row in rows], float),
            at_bound=np.array([[c in row["at_bound"] for c in causes] for row in rows], bool),
            loads=dict(data["loads"]),
            horizon=data["horizon"],
            windows=data["windows"],
        )


def attribute(
    recordings: Recordings,
    world: EngineWorld,
    horizon: float = 0.5,
    max_windows: int = 48,
) -> Attribution:
    """Attribute the replay error of recordings to causes.

    Args:
        recordings: with commands, of the world's robot and rate.
        world: the nominal simulator.
        horizon: seconds replayed from recorded states.
        max_windows: evenly chosen over the recordings; more is slower and steadier.
    """
    chosen = _spread(recordings, max_windows)
    if not any(
        len(spans_of(in_robot_order(r, world.robot).valid, r.rate, horizon)) for r in chosen
    ):
        raise DataError(f"no unbroken stretch of {horizon:g} s to attribute an error in")
    search = _Search(chosen, world, horizon, max(1, max_windows // max(1, len(chosen))))
    for _ in range(ROUNDS):
        known = (search.amount != 0).sum()
        search.advance(new_cause=True)
        if (search.amount != 0).sum() == known:
            break
        search.advance(new_cause=False)
    return search.result()


class _Search:
    """Causes found so far, and what they do to the simulator."""

    def __init__(
        self, recordings: list[Recording], world: EngineWorld, horizon: float, limit: int
    ) -> None:
        self.recordings, self.world = recordings, world
        self.horizon, self.limit = horizon, limit
        self.causes = causes_of(world)
        nominal = replay(recordings, world, horizon, limit)
        self.first_error = self.error = _errors(nominal)
        self.windows = sum(len(r.starts) for r in nominal)
        self.weight = _weights(self.error)
        scale = Scale(
            error=_rms(self.error),
            speed=_rms(_speeds(nominal)),
            rate=world.rate,
            mass=float(world.model.body_mass.sum()),
        )
        self.probe = np.stack([c.first(world.robot, scale) for c in self.causes], axis=1)
        self.amount = np.zeros_like(self.probe)
        self.credit = np.zeros_like(self.probe)

    def advance(self, new_cause: bool) -> None:
        """Explain the present error, and change the simulator by what explains it.

        Each joint may take up one cause more; it is then refitted before the next is looked for, so
        that no cause is called in to mend the nonlinearity of another.
        """
        active = self.amount != 0
        probed = range(len(self.causes)) if new_cause else np.flatnonzero(active.any(axis=0))
        moved = np.zeros((*self.error.shape, len(self.causes)))
        for c in probed:
            moved[..., c] = self._moved(int(c))
        worthwhile = WORTHWHILE * _energy(self.first_error) if new_cause else None
        factors = explain(self.error, moved, self._bounds(), active, worthwhile)
        factors = self._agreed(factors, np.nan_to_num(moved**2).sum(axis=0))
        explained = np.nan_to_num(moved) * factors
        self.credit += np.einsum("njc,nj->jc", explained, np.nan_to_num(-self.first_error))
        low, high = self._ends()
        self.amount = np.clip(self.amount + factors * self.probe, low, high)
        self.error = _errors(self._replay(self.amount))
        step = np.abs(factors) * self.probe
        self.probe = np.where(step > 0.05 * self.probe, np.minimum(step, self.probe), self.probe)

    def result(self) -> Attribution:
        """Shares of the first error: what is left is measured, the rest divided by credit."""
        total = _energy(self.first_error)
        remains = np.clip(_energy(self.error) / np.where(total > 0, total, 1.0), 0.0, 1.0)
        names = tuple(dict.fromkeys(c.name for c in self.causes))
        member = np.array([[c.name == name for name in names] for c in self.causes], float)
        # A cause that was withdrawn again keeps no credit.
        credit = np.clip((self.credit * (self.amount != 0)) @ member, 0.0, None)
        given = credit.sum(axis=1, keepdims=True)
        share = credit / np.where(given > 0, given, 1.0) * (1 - remains)[:, None]
        scored = np.isfinite(self.first_error).any(axis=0) & (total > 0)
        return Attribution(
            causes=names,
            units=tuple(next(c.unit for c in self.causes if c.name == n) for n in names),
            joints=self.world.robot.joints.names,
            share=np.where(scored[:, None], share, np.nan),
            amplitude=self.amount @ member,
            weight=self.weight,
            at_bound=(self.amount >= 0.99 * self._ends()[1]) @ member > 0,
            loads={
                cause.link: float(self.amount[0, c])
                for c, cause in enumerate(self.causes)
                if cause.link is not None and self.amount[0, c]
            },
            horizon=self.horizon,
            windows=self.windows,
        )

    def _replay(self, amount: np.ndarray) -> list[Replay]:
        """Replay with every cause at its (J, C) amount."""
        world, recordings = self.world, self.recordings
        for cause, size in zip(self.causes, amount.T, strict=True):
            if size.any():
                world = cause.apply(world, size)
                if cause.load is not None:
                    recordings = [cause.load(r, world.robot, size) for r in recordings]
        return replay(recordings, world, self.horizon, self.limit)

    def _moved(self, cause: int) -> np.ndarray:
        """(N, J) how the simulator moves when one cause grows by its probe, rad."""
        amount = self.amount.copy()
        amount[:, cause] += self.probe[:, cause]
        return _errors(self._replay(amount)) - self.error

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """(J, C) smallest and largest amount of every cause."""
        low = np.stack([c.lowest(self.world.robot) for c in self.causes], axis=1)
        return low, np.stack([c.highest(self.world.robot) for c in self.causes], axis=1)

    def _bounds(self) -> np.ndarray:
        """(2, J, C) smallest and largest factor by which a probe may be taken."""
        return np.clip((np.stack(self._ends()) - self.amount) / self.probe, -FARTHEST, FARTHEST)

    def _agreed(self, factors: np.ndarray, power: np.ndarray) -> np.ndarray:
        """One factor for all joints where a cause has one amplitude: the mean by (J, C) effect."""
        agreed = factors.copy()
        for c, cause in enumerate(self.causes):
            named = power[:, c] * (factors[:, c] != 0)
            if cause.shared and named.sum() > 0:
                agreed[:, c] = named @ factors[:, c] / named.sum()
        return agreed


def _spread(recordings: Recordings, most: int) -> list[Recording]:
    """Up to `most` recordings, evenly chosen; only these are read."""
    count = min(most, len(recordings))
    chosen = np.linspace(0, len(recordings) - 1, count).round().astype(int)
    return [recordings[int(i)] for i in chosen]


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


def _energy(error: np.ndarray) -> np.ndarray:
    """(J,) sum of squares of the usable samples."""
    return np.nan_to_num(error**2).sum(axis=0)
