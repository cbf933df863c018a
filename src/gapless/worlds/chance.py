"""Randomness that belongs to a sequence: the same alone, in any batch, and after a resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions

LONGEST = 8.0
"""No command is later than this many times the mean."""


def generator(*key: object) -> np.random.Generator:
    """A generator that depends on nothing but the key: texts, numbers, arrays."""
    digest = hashlib.sha256()
    for part in key:
        raw = np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part)
        digest.update(raw if isinstance(raw, bytes) else raw.encode())
        digest.update(b"\\0")
    return np.random.default_rng(np.frombuffer(digest.digest(), np.uint32))


def sequence_generators(
    seed: int, purpose: str, targets: np.ndarray, conditions: Sequence[Conditions] | None
) -> list[np.random.Generator]:
    """One generator an environment, keyed by its targets (or its start) and its conditions."""
    texts, rows = _texts(len(targets), conditions), np.asarray(targets, float)
    return [generator(seed, purpose, t, row) for t, row in zip(texts, rows, strict=True)]


def _texts(environments: int, conditions: Sequence[Conditions] | None) -> list[str | None]:
    told = [None] * environments if conditions is None else conditions
    try:
        return [None if c is None else json.dumps(c.to_dict(), sort_keys=True) for c in told]
    except TypeError as error:
        raise DataError(
            f"conditions must be plain values (text, numbers): {error}; give Python numbers"
        ) from error


def lateness(generators: Sequence[np.random.Generator], steps: int, mean: float) -> np.ndarray:
    """(n, steps) seconds each command comes late: exponential, as queues are."""
    if not mean:
        return np.zeros((len(generators), steps))
    drawn = [g.exponential(mean, steps) for g in generators]
    return np.minimum(drawn, LONGEST * mean)
