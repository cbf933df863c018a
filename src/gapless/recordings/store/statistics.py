"""Normalisation statistics of a dataset, as LeRobot defines them, one episode at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
Stats = dict[str, np.ndarray]


def episode_stats(arrays: Mapping[str, np.ndarray]) -> dict[str, Stats]:
    """Statistics of every column of one episode over its finite values."""
    return {
        key: _column_stats(array if array.ndim == 2 else array[:, None])
        for key, array in arrays.items()
    }


def _column_stats(values: np.ndarray) -> Stats:
    values = values.astype(np.float64)
    finite = np.isfinite(values)
    if finite.all():
        return _dense_stats(values)
    parts = [_dense_stats(values[ok, i : i + 1]) for i, ok in enumerate(finite.T)]
    merged = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return merged | {"count": np.array([int(finite.any(axis=1).sum())])}


def _dense_stats(values: np.ndarray) -> Stats:
    """All zero with count 0 where there is no value: JSON has no NaN."""
    count = np.array([len(values)])
    if not len(values):
        zero = np.zeros(values.shape[1])
        names = ("min", "max", "mean", "std", *QUANTILES)
        return {name: zero for name in names} | {"count": count}
    quantiles = np.quantile(values, list(QUANTILES.values()), axis=0)
    return {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0),
        "std": values.std(axis=0),
        "count": count,
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


def merge(parts: Iterable[Stats]) -> Stats:
    """Statistics of several episodes together; quantiles are the weighted mean, as in LeRobot."""
    parts = list(parts)
    used = [part for part in parts if part["count"][0] > 0]
    if not used:
        return parts[0]
    counts = np.array([part["count"][0] for part in used], dtype=float)
    weights = (counts / counts.sum())[:, None]
    stacked = {key: np.stack([part[key] for part in used]) for key in used[0] if key != "count"}
    mean = (weights * stacked["mean"]).sum(axis=0)
    variance = (weights * (stacked["std"] ** 2 + (stacked["mean"] - mean) ** 2)).sum(axis=0)
    return {
        "min": stacked["min"].min(axis=0),
        "max": stacked["max"].max(axis=0),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": np.array([int(counts.sum())]),
        **{key: (weights * stacked[key]).sum(axis=0) for key in QUANTILES},
    }


def to_json(stats: Mapping[str, Stats]) -> dict[str, Any]:
    """Plain lists, for meta/stats.json."""
    return {key: {k: v.tolist() for k, v in part.items()} for key, part in stats.items()}
