"""The envelope: where a correction was trained, and how it fades to nothing outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.models.model import Inputs, columns_of_joints
from gapless.corrections.runtime.array_ops import Array, clip, concat, length, like, transposed
from gapless.corrections.runtime.signals import BASE, PER_JOINT, Signals

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
    """An ellipsoid around the training data, or one around each joint's own part of it.

    A network that looks at one joint at a time is trusted joint by joint: with many joints and
    little data a new motion is soon outside an ellipsoid of all of them together.

    Attributes:
        signals: that are watched.
        mean: (d,) of the data; of each joint's own, (J, d).
        whiten: (d, d) makes the data's covariance the identity; of each joint's own, (J, d, d),
            with its edge at the radius.
        radius: distance from the mean that holds most of the data.
    """

    signals: tuple[str, ...]
    mean: np.ndarray
    whiten: np.ndarray
    radius: float

    @classmethod
    def around(cls, data: Signals, signals: tuple[str, ...]) -> Envelope:
        """The envelope of (n, d) samples, all joints together."""
        return cls(signals, *_ellipsoid(concat([data[s] for s in signals]), _usual(data, signals)))

    @classmethod
    def of_each_joint(cls, data: Signals, signals: tuple[str, ...]) -> Envelope:
        """One ellipsoid a joint, around its own columns and those of no joint."""
        rows, usual = concat([data[s] for s in signals]), _usual(data, signals)
        columns = columns_of_joints(Inputs(signals), rows.shape[-1])
        found = [_ellipsoid(rows[:, own], usual[own]) for own in columns]
        means, whitens, radii = (np.array(part) for part in zip(*found, strict=True))
        return cls(signals, means, whitens / radii[:, None, None], 1.0)

    @property
    def joint_by_joint(self) -> bool:
        """Whether every joint has an ellipsoid of its own."""
        return self.mean.ndim > 1

    @property
    def width(self) -> int:
        """Columns of all signals that are watched."""
        if not self.joint_by_joint:
            return len(self.mean)
        shared = len(self.mean[0]) - sum(s in PER_JOINT for s in self.signals)
        return self.mean.size - (len(self.mean) - 1) * shared

    def distance(self, rows: Array) -> Array:
        """How far (..., d) columns of the signals are from the data; 1 is the edge.

        (...) of all joints together, or (..., J).
        """
        mean, whiten = like(self.mean, rows), like(self.whiten, rows)
        if not self.joint_by_joint:
            return length((rows - mean) @ transposed(whiten)) / self.radius
        away = rows[..., columns_of_joints(Inputs(self.signals), self.width)] - mean
        return length((whiten @ away[..., None])[..., 0]) / self.radius

    def weight(self, now: Signals) -> Array:
        """1 inside, falling to 0 outside; shaped as `distance`."""
        return self.weight_of(concat([now[s] for s in self.signals]))

    def weight_of(self, rows: Array) -> Array:
        """The same of the signals' columns."""
        return clip(1 - (self.distance(rows) - 1) / FADE, 0.0, 1.0)


def watched(signals: tuple[str, ...]) -> tuple[str, ...]:
    """The signals that decide whether a correction that sees these may be trusted."""
    beside = [s for s in signals if s in BASE or s == "payload"]
    return ("q", "dq", "error", *beside)


def _usual(data: Signals, signals: tuple[str, ...]) -> np.ndarray:
    """Least deviation of each column."""
    sizes = [np.full(np.shape(data[s])[-1], USUAL.get(s, USUAL_ELSE)) for s in signals]
    return np.concatenate(sizes)


def _ellipsoid(rows: np.ndarray, usual: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, whitening and radius of (n, d) rows."""
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), usual)
    values, axes = np.linalg.eigh(np.cov(((rows - mean) / scale).T) + 0.0)
    values = np.maximum(values, FLAT * (values.mean() or 1.0))  # none where nothing ever moved
    whiten = (axes / np.sqrt(values)).T / scale
    distance = np.linalg.norm((rows - mean) @ whiten.T, axis=1)
    return mean, whiten, float(np.quantile(distance, QUANTILE)) or 1.0
