"""Normalisation statistics of a dataset, as LeRobot defines them, one episode at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
Stats = dict[str, np.ndarray]
TOGETHER = 100_000
"""Values of an episode up to which all its columns are handled at once."""


def episode_stats(arrays: Mapping[str, np.ndarray]) -> dict[str, Stats]:
    """Statistics of every column of one episode over its finite values."""
    columns = {key: a if a.ndim == 2 else a[:, None] for key, a in arrays.items()}
    small = sum(a.size for a in columns.values()) < TOGETHER
    groups = [columns] if small else [{key: a} for key, a in columns.items()]
    return {key: stats for group in groups for key, stats in _group_stats(group).items()}


def _group_stats(columns: Mapping[str, np.ndarray]) -> dict[str, Stats]:
    values = np.concatenate([a.T for a in columns.values()], dtype=np.float64)
    finite = np.isfinite(values)
    numbers = _row_stats(values, finite)
    stops = np.cumsum([a.shape[1] for a in columns.values()])
    starts = stops - [a.shape[1] for a in columns.values()]
    counts = np.logical_or.reduceat(finite, starts, axis=0).sum(axis=1, keepdims=True)
    return {
        key: {name: v[start:stop] for name, v in numbers.items()} | {"count": count}
        for key, start, stop, count in zip(columns, starts, stops, counts, strict=True)
    }


def _row_stats(values: np.ndarray, finite: np.ndarray) -> Stats:
    """Statistics of each row; all zero where there is no value, because JSON has no NaN.

    The values are sorted in place: they may be most of the memory.
    """
    count, lacking = finite.sum(axis=1), ~finite
    some = np.maximum(count, 1)
    values[lacking] = 0.0
    mean = values.sum(axis=1) / some
    spread = values - mean[:, None]
    spread[lacking] = 0.0
    std = np.sqrt(np.einsum("kt,kt->k", spread, spread) / some)
    values[lacking] = np.inf
    values.sort(axis=1)
    values[count == 0] = 0.0
    shares = {"min": 0.0, "max": 1.0, **QUANTILES}
    quantiles = _quantiles(values, some, np.array([*shares.values()])[:, None])
    return {**dict(zip(shares, quantiles, strict=True)), "mean": mean, "std": std}


def _quantiles(ordered: np.ndarray, count: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Linear interpolation between the sorted values of each row."""
    at = shares * (count - 1)
    low = at.astype(int)
    high = np.minimum(low + 1, count - 1)
    rows = np.arange(len(ordered))
    below = ordered[rows, low]
    return below + (at - low) * (ordered[rows, high] - below)


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
