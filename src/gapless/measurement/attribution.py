"""Attribution: how much of each joint's error each likely cause explains.

Every candidate cause is simulated on the recording's own windows; what it changes is the direction
in which it can move the simulator. The error is explained, joint by joint, by as few of these
directions as do it. The simulator is then changed by what was found, and what is left is explained
again, since most causes are not linear and some hide behind others. Only the recordings and the
nominal robot are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gapless.measurement.cause_search import CauseSearch, energy
from gapless.measurement.causes import CauseSize
from gapless.measurement.trials import Trials
from gapless.recordings.recording import Recording, Recordings
from gapless.worlds.engine_world import EngineWorld

NAMED = 0.005
"""Figures of a cause are told where it explains this share of some joint's error."""


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
        sizes: figures of the causes that only a robot on a floor has: its start and its contacts.
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
    sizes: tuple[CauseSize, ...] = ()

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
            **({"sizes": [asdict(size) for size in self.sizes]} if self.sizes else {}),
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
            sizes=tuple(CauseSize(**size) for size in data.get("sizes", ())),
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
    trials = Trials(chosen, world, horizon, max(1, max_windows // max(1, len(chosen))))
    search = CauseSearch(trials)
    search.run()
    return _result(search)


def _result(search: CauseSearch) -> Attribution:
    """Shares of the first error: what is left is measured, the rest divided by credit."""
    causes, amount, total = search.causes, search.amount, energy(search.first_error)
    remains = np.clip(energy(search.error) / np.where(total > 0, total, 1.0), 0.0, 1.0)
    names = tuple(dict.fromkeys(c.name for c in causes))
    member = np.array([[c.name == name for name in names] for c in causes], float)
    # Steps of a start are not its size, and end at its next aim, not at a bound.
    counted = np.array([cause.aim is None for cause in causes])
    # A cause that was withdrawn again keeps no credit.
    credit = np.clip((search.credit * (amount != 0)) @ member, 0.0, None)
    given = credit.sum(axis=1, keepdims=True)
    share = credit / np.where(given > 0, given, 1.0) * (1 - remains)[:, None]
    scored = np.isfinite(search.first_error).any(axis=0) & (total > 0)
    return Attribution(
        causes=names,
        units=tuple(next(c.unit for c in causes if c.name == n) for n in names),
        joints=search.trials.world.robot.joints.names,
        share=np.where(scored[:, None], share, np.nan),
        amplitude=_amplitudes(search) @ member,
        weight=total / max(total.sum(), 1e-30),
        at_bound=((amount >= 0.99 * search.ends()[1]) & counted) @ member > 0,
        loads={
            cause.link: float(amount[0, c])
            for c, cause in enumerate(causes)
            if cause.link is not None and amount[0, c]
        },
        horizon=search.trials.horizon,
        windows=len(search.trials.windows),
        sizes=tuple(
            size
            for c, cause in enumerate(causes)
            if share[scored, names.index(cause.name)].max(initial=0.0) >= NAMED
            for size in _sizes(search, c)
        ),
    )


def _sizes(search: CauseSearch, cause: int) -> tuple[CauseSize, ...]:
    """Figures of a cause that was taken up."""
    amount = float(search.amount[0, cause])
    return search.causes[cause].sizes(search.trials.world.robot, amount) if amount else ()


def _amplitudes(search: CauseSearch) -> np.ndarray:
    """(J, C) how large causes are, in the unit of their name; a part in another unit has none."""
    units: dict[str, str] = {}
    amplitude = search.amount.copy()
    for c, cause in enumerate(search.causes):
        if cause.unit != units.setdefault(cause.name, cause.unit):
            amplitude[:, c] = 0.0
        elif cause.aim is not None:
            amplitude[:, c] = sum(size.mean for size in _sizes(search, c)[:1])
    return amplitude


def _spread(recordings: Recordings, most: int) -> list[Recording]:
    """Up to `most` recordings, evenly chosen; only these are read."""
    count = min(most, len(recordings))
    chosen = np.linspace(0, len(recordings) - 1, count).round().astype(int)
    return [recordings[int(i)] for i in chosen]
