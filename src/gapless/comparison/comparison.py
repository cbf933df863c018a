"""A Comparison: what each method reached on held-out motions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_json
from gapless.errors import unknown
from gapless.measurement.gap import Gap
from gapless.printing import PrintsAsTables

JOINT, BODIES = ("replay_error",), ("e_g_mpjpe", "e_mpjpe", "e_acc", "e_vel")
"""Metrics of every robot, and of one whose base moves."""

HELD_OUT = "held-out motions"
"""What the part of a split that is only reported is called."""

UNITS = {
    "replay_error": "rad",
    "e_g_mpjpe": "mm",
    "e_mpjpe": "mm",
    "e_acc": "mm/frame²",
    "e_vel": "mm/frame",
}


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds; NaN where there is nothing to take them of."""

    mean: float
    std: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread:
        """Of the finite values; one alone has no deviation."""
        known = [v for v in values if v is not None and math.isfinite(v)]
        if not known:
            return cls(math.nan, math.nan, 0)
        std = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
        return cls(float(np.mean(known)), std, len(known))


@dataclass(frozen=True)
class Score:
    """One method with one seed.

    Attributes:
        seed: of the training.
        seconds: that it took, without being judged.
        metrics: metric -> horizon -> mean over recordings.
        payloads: payload -> horizon -> replay error, rad.
        diverged: windows whose simulation diverged.
        failed: why there are no figures.
    """

    seed: int
    seconds: float
    metrics: dict[str, dict[str, float | None]] = field(default_factory=dict)
    payloads: dict[str, dict[str, float | None]] = field(default_factory=dict)
    diverged: int = 0
    failed: str | None = None

    @classmethod
    def of(cls, gap: Gap, metrics: Sequence[str], seed: int, seconds: float) -> Score:
        """The score of a measured gap."""
        loads: dict[str, dict[str, float | None]] = {}
        for horizon in gap.horizons:
            for load, mean in gap.by("payload", "replay_error", horizon).items():
                loads.setdefault(load, {})[str(horizon)] = _plain(mean.value)
        return cls(
            seed,
            seconds,
            {m: {str(h): _plain(gap.mean(m, h).value) for h in gap.horizons} for m in metrics},
            loads,
            sum(clip.diverged for clip in gap.clips),
        )


@dataclass(frozen=True)
class Row:
    """One method with all its seeds."""

    method: str
    scores: tuple[Score, ...]

    def metric(self, metric: str, horizon: str) -> Spread:
        """A metric over seeds."""
        return Spread.of([s.metrics.get(metric, {}).get(horizon) for s in self.scores])

    def payload(self, payload: str, horizon: str) -> Spread:
        """Replay error of one payload over seeds, rad."""
        return Spread.of([s.payloads.get(payload, {}).get(horizon) for s in self.scores])

    @property
    def seconds(self) -> Spread:
        """Wall time of the seeds that did not fail."""
        return Spread.of([s.seconds for s in self.scores if s.failed is None])

    @property
    def failures(self) -> tuple[str, ...]:
        """Why seeds failed, each reason once."""
        return tuple(dict.fromkeys(s.failed for s in self.scores if s.failed is not None))

    @property
    def diverged(self) -> int:
        """Windows that diverged, over all seeds."""
        return sum(s.diverged for s in self.scores)


@dataclass(frozen=True)
class Comparison(PrintsAsTables):
    """Methods side by side, the raw simulator first.

    Attributes:
        rows: in the order they were asked for.
        metrics: that were measured, one table each.
        horizons: as text, in the order they were asked for.
        facts: recordings, split, seeds, budget and software.
        title: what the methods were judged by.
        others: the same trainings judged by other recordings.
    """

    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    horizons: tuple[str, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    title: str = HELD_OUT
    others: tuple[Comparison, ...] = ()

    def on(self, title: str) -> Comparison:
        """The comparison by some recordings: "held-out motions", "motions of NAME"."""
        found = {one.title: one for one in (self, *self.others)}
        if title not in found:
            raise unknown("set of recordings", title, found)
        return found[title]

    @property
    def payloads(self) -> tuple[str, ...]:
        """That the held-out recordings carried."""
        return tuple(sorted({p for r in self.rows for s in r.scores for p in s.payloads}))

    def __getitem__(self, method: str) -> Row:
        """The row of a method."""
        return next(row for row in self.rows if row.method == method)

    def reduction(
        self, method: str, metric: str | None = None, horizon: str | None = None
    ) -> float:
        """Share of the raw simulator's error that is gone: 0.4 is 40 % less."""
        asked = metric or self.metrics[0], horizon or self.horizons[-1]
        before, after = (self[name].metric(*asked).mean for name in ("raw", method))
        return 1 - after / before if before else math.nan

    def improved(self, method: str) -> bool:
        """Whether a method lowers the replay error, divergence included, over every horizon."""
        return all(self.reduction(method, "replay_error", h) > 0 for h in self.horizons)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; what is not known is null."""
        return {
            **self.facts,
            "title": self.title,
            "units": UNITS,
            "rows": [self._entry(row) for row in self.rows],
            "others": [other.to_dict() for other in self.others],
        }

    def _entry(self, row: Row) -> dict[str, Any]:
        loads, each = self.payloads, self.horizons
        return {
            "method": row.method,
            "metrics": {
                m: {
                    h: _spread(row.metric(m, h))
                    | {"reduction": _plain(self.reduction(row.method, m, h))}
                    for h in each
                }
                for m in self.metrics
            },
            "payloads": {p: {h: _spread(row.payload(p, h)) for h in each} for p in loads},
            "seconds": _spread(row.seconds),
            "diverged": row.diverged,
            "improved": self.improved(row.method),
            "failures": list(row.failures),
            "scores": [asdict(score) for score in row.scores],
        }

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file."""
        write_json(Path(path), self.to_dict())

    def __rich__(self) -> Any:
        from gapless.comparison.comparison_tables import comparison_tables

        return comparison_tables(self)


def _spread(spread: Spread) -> dict[str, Any]:
    return {"mean": _plain(spread.mean), "std": _plain(spread.std), "seeds": spread.seeds}


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
