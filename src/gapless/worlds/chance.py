"""Randomness that belongs to a sequence: the same alone, in any batch, and after a resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

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


def reset_generator(
    seed: int, purpose: str, q: np.ndarray, conditions: Sequence[Conditions] | None
) -> np.random.Generator:
    """The generator of copies that are stepped, keyed by where and how they start."""
    return generator(seed, purpose, q, *_texts(len(q), conditions))


def sequence_generators(
    seed: int, purpose: str, targets: np.ndarray, conditions: Sequence[Conditions] | None
) -> list[np.random.Generator]:
    """One generator a copy, keyed by what it is told to do and under which conditions."""
    texts = _texts(len(targets), conditions)
    return [generator(seed, purpose, t, row) for t, row in zip(texts, targets, strict=True)]


def _texts(copies: int, conditions: Sequence[Conditions] | None) -> list[str | None]:
    told = [None] * copies if conditions is None else conditions
    return [None if c is None else json.dumps(c.to_dict(), sort_keys=True) for c in told]


def lateness(generators: Sequence[np.random.Generator], steps: int, mean: float) -> np.ndarray:
    """(n, steps) seconds each command comes late: exponential, as queues are."""
    drawn = [g.exponential(mean, steps) for g in generators]
    return np.minimum(drawn, LONGEST * mean)
