"""The envelope: where a correction was trained, and how it fades to nothing outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.runtime.signals import BASE, Signals

QUANTILE = 0.995
"""Share of the training data that is inside."""

FADE = 1.0
"""Beyond the edge a correction fades to nothing over this share of the radius."""

FLAT = 0.1
"""Least share of the mean variance in any direction. A slow robot's error follows from
its pose, so data lies almost in a plane; a simulator that is to be corrected does not lie in it."""

USUAL = {"q": 0.02, "error": 0.01, "gravity": 0.02, "height": 0.01}
USUAL_ELSE = 0.1
"""Least deviation that data is scaled by (rad, m; rad/s, m/s, kg): what never changed in it, such
as a joint that was held or a load that was always the same, may change by a hair."""


@dataclass(frozen=True)
class Envelope:
    """An ellipsoid around the training data.

    Attributes:
        signals: that are watched.
        mean: (d,) of the data.
        whiten: (d, d) makes the data's covariance the identity.
        radius: distance from the mean that holds most of the data.
    """

    signals: tuple[str, ...]
    mean: np.ndarray
    whiten: np.ndarray
    radius: float

    @classmethod
    def around(cls, data: Signals, signals: tuple[str, ...]) -> Envelope:
        """The envelope of (n, d) samples."""
        rows = _rows(data, signals)
        usual = [np.full(np.shape(data[s])[-1], USUAL.get(s, USUAL_ELSE)) for s in signals]
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), np.concatenate(usual))
        values, axes = np.linalg.eigh(np.cov(((rows - mean) / scale).T) + 0.0)
        values = np.maximum(values, FLAT * values.mean())
        whiten = (axes / np.sqrt(values)).T / scale
        distance = np.linalg.norm((rows - mean) @ whiten.T, axis=1)
        return cls(signals, mean, whiten, float(np.quantile(distance, QUANTILE)))

    def distance(self, now: Signals) -> np.ndarray:
        """(n,) how far samples are from the data; 1 is the edge."""
        return np.linalg.norm((_rows(now, self.signals) - self.mean) @ self.whiten.T, axis=-1) / (
            self.radius
        )

    def weight(self, now: Signals) -> np.ndarray:
        """(n,) 1 inside, falling to 0 outside."""
        return np.clip(1 - (self.distance(now) - 1) / FADE, 0.0, 1.0)


def watched(signals: tuple[str, ...]) -> tuple[str, ...]:
    """The signals that decide whether a correction that sees these may be trusted."""
    beside = [s for s in signals if s in BASE or s == "payload"]
    return ("q", "dq", "error", *beside)


def _rows(data: Signals, signals: tuple[str, ...]) -> np.ndarray:
    parts = [np.asarray(data[s]) for s in signals]
    shape = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
    return np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], axis=-1)
