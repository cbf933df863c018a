"""The Gap: every clip's numbers, and how to look at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from gapless.artifact import write_json
from gapless.errors import DataError, FormatError, unknown
from gapless.measurement.attribution import Attribution
from gapless.measurement.score import BODY_METRICS, JOINT_METRICS, ClipGap
from gapless.measurement.spans import Horizon
from gapless.printing import PrintsAsTables
from gapless.worlds.world import Identity


@dataclass(frozen=True)
class Mean:
    """A mean over clips with its 95 % confidence interval (Student's t)."""

    value: float
    half_width: float
    clips: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Mean:
        """Mean of the finite values; one clip alone has no interval."""
        finite = np.array([v for v in values if math.isfinite(v)])
        if not len(finite):
            return cls(math.nan, math.nan, 0)
        if len(finite) == 1:
            return cls(float(finite[0]), math.nan, 1)
        spread = stats.t.ppf(0.975, len(finite) - 1) * stats.sem(finite)
        return cls(float(finite.mean()), float(spread), len(finite))


GROUPS: dict[str, Callable[[ClipGap], str]] = {
    "motion": lambda clip: clip.name,
    "payload": lambda clip: "unknown" if clip.payload is None else f"{clip.payload:g} kg",
    "unit": lambda clip: clip.unit or "unknown",
}


@dataclass(frozen=True)
class Gap(PrintsAsTables):
    """How far a world is from the recordings of a robot.

    Prints as tables; `to_dict`, `to_json` and `plot` give the rest.

    Attributes:
        identity: the world the numbers belong to; never compare across identities.
        joints: joint names, the order of every (J,) array.
        end_effectors: names of the points in `ClipGap.offsets`.
        clips: one entry for each recording and horizon.
        skipped: metrics or recordings that could not be computed, and why.
        attribution: likely causes, where they were asked for.
    """

    identity: Identity
    joints: tuple[str, ...]
    end_effectors: tuple[str, ...]
    clips: tuple[ClipGap, ...]
    skipped: tuple[str, ...] = ()
    attribution: Attribution | None = field(default=None)

    @property
    def horizons(self) -> tuple[Horizon, ...]:
        """In the order they were asked for."""
        return tuple(dict.fromkeys(c.horizon for c in self.clips))

    def at(self, horizon: Horizon) -> tuple[ClipGap, ...]:
        """The clips of one horizon."""
        if horizon not in self.horizons:
            raise unknown("horizon", str(horizon), map(str, self.horizons))
        return tuple(c for c in self.clips if c.horizon == horizon)

    def joint(self, metric: str, horizon: Horizon) -> np.ndarray:
        """(J,) mean over clips of a joint metric."""
        rows = [c.joints[metric] for c in self.at(horizon) if metric in c.joints]
        if not rows:
            return np.full(len(self.joints), np.nan)
        return np.array([Mean.of(column).value for column in np.array(rows).T])

    def mean(self, metric: str, horizon: Horizon) -> Mean:
        """A metric over clips: a joint metric is first averaged over a clip's own joints."""
        if metric not in JOINT_METRICS and metric not in BODY_METRICS:
            raise unknown("metric", metric, [*JOINT_METRICS, *BODY_METRICS])
        return Mean.of(_clip_value(c, metric) for c in self.at(horizon))

    def by(self, group: str, metric: str, horizon: Horizon) -> dict[str, Mean]:
        """A metric for each motion, payload or unit."""
        if group not in GROUPS:
            raise unknown("group", group, GROUPS)
        values: dict[str, list[float]] = {}
        for clip in self.at(horizon):
            values.setdefault(GROUPS[group](clip), []).append(_clip_value(clip, metric))
        return {name: Mean.of(values[name]) for name in sorted(values)}

    def offset_cm(self, horizon: Horizon) -> np.ndarray:
        """(P, 3) mean X/Y/Z offset of each end effector over clips, cm."""
        rows = np.array([c.offsets for c in self.at(horizon)])
        known = np.isfinite(rows).all(axis=(1, 2))
        return rows[known].mean(axis=0) if known.any() else np.full(rows.shape[1:], np.nan)

    def reduction(
        self,
        before: Gap,
        metric: str = "replay_error",
        horizon: Horizon | None = None,
        allow_version_mismatch: bool = False,
    ) -> float:
        """Share of another gap that is gone in this one: 0.4 is 40 % less error than `before`.

        Numbers of different simulators are refused unless `allow_version_mismatch`.
        """
        if not allow_version_mismatch:
            self.identity.require_same_simulator(before.identity)
        at = self.horizons[-1] if horizon is None else horizon
        was = before.mean(metric, at).value
        if not was > 0:
            raise DataError(f"{metric} was {was} before; there is nothing to reduce")
        return 1 - self.mean(metric, at).value / was

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain JSON types; NaN becomes null."""
        return _plain(
            {
                "identity": {**asdict(self.identity), "key": self.identity.key},
                "joints": self.joints,
                "end_effectors": self.end_effectors,
                "units": {**JOINT_METRICS, **BODY_METRICS, "offsets": "cm"},
                "summary": [self._summary(h) for h in self.horizons],
                "clips": [asdict(c) for c in self.clips],
                "skipped": self.skipped,
                "attribution": None if self.attribution is None else self.attribution.to_dict(),
            }
        )

    def _summary(self, horizon: Horizon) -> dict[str, Any]:
        clips = self.at(horizon)
        return {
            "horizon": horizon,
            "clips": len(clips),
            "windows": sum(c.windows for c in clips),
            "diverged": sum(c.diverged for c in clips),
            "samples": sum(c.samples for c in clips),
            "masked": sum(c.masked for c in clips),
            "metrics": {m: asdict(self.mean(m, horizon)) for m in (*JOINT_METRICS, *BODY_METRICS)},
            "joints": {m: self.joint(m, horizon) for m in JOINT_METRICS},
            "offsets_cm": self.offset_cm(horizon),
            "by": {
                g: {n: asdict(v) for n, v in self.by(g, "replay_error", horizon).items()}
                for g in GROUPS
            },
        }

    @classmethod
    def from_dict(cls, data: Any, where: str = "gap") -> Gap:
        """Inverse of `to_dict`, read from JSON or not; what is no gap is refused."""
        try:
            return cls._read(data)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{where} is no gap, or is damaged ({error!r}); expected what Gap.to_dict or "
                "gapless measure --json gives"
            ) from error

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Gap:
        causes, joints = data["attribution"], tuple(data["joints"])
        identity = {k: v for k, v in data["identity"].items() if k != "key"}
        return cls(
            identity=Identity(**identity),
            joints=joints,
            end_effectors=tuple(data["end_effectors"]),
            clips=tuple(ClipGap.from_dict(clip) for clip in data["clips"]),
            skipped=tuple(data["skipped"]),
            attribution=None if causes is None else Attribution.from_dict(causes, joints),
        )

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file."""
        write_json(Path(path), self.to_dict())

    def plot(self, path: str | Path) -> Path:
        """Draw the gap by joint and horizon, and its likely causes, to a PNG."""
        from gapless.measurement.gap_plots import plot_gap

        return plot_gap(self, Path(path))

    def __rich__(self) -> Any:
        from gapless.measurement.gap_tables import gap_tables

        return gap_tables(self)


def _clip_value(clip: ClipGap, metric: str) -> float:
    if metric in BODY_METRICS:
        return clip.bodies.get(metric, math.nan)
    values = clip.joints.get(metric)
    if values is None or not np.isfinite(values).any():
        return math.nan
    return float(np.nanmean(values))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
