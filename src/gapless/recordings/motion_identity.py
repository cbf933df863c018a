"""Which recordings are of one motion: those that command the same, whatever they are called."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from gapless.recordings.recording import Recording, Recordings

ALIKE = 0.02
"""Commands within this of each other at every sample (rad) are one motion."""

OVERLAP = 0.5
"""A recording that was cut short is of the same motion if it has this share of the samples."""

MOVED = 0.1
"""Or if it moves a joint by this (rad): a shorter hold may be the beginning of any motion."""

GLANCES = 16
"""Samples at which all commands are compared first; only pairs alike there are compared whole."""


def motions_of(recordings: Recordings) -> list[str]:
    """The motion of every recording, by the name of the first recording that is of it.

    A motion is what was commanded. Recordings are of one motion where every two of them have
    commands within ALIKE of each other at every sample (complete linkage), or where they state one
    name. The beginning of a motion is of it, where it is half of it or moves. The targets of a
    policy never repeat: there the policy and what it was asked to do count.
    """
    return motions_asked([Asked.by(recording) for recording in recordings])


def motions_asked(asked: Sequence[Asked]) -> list[str]:
    """The same for what recordings asked, without the recordings themselves."""
    first_of: dict[str, int] = {}
    pairs = [(first_of.setdefault(one.stated, i), i) for i, one in enumerate(asked)]
    fixed = [i for i, one in enumerate(asked) if one.command is not None]
    pairs += [(fixed[a], fixed[b]) for a, b in _same_commands([asked[i] for i in fixed])]
    group = _components(pairs, len(asked))
    named = {int(g): asked[i].stated for i, g in reversed(list(enumerate(group)))}
    return [named[int(g)] for g in group]


@dataclass(frozen=True)
class Asked:
    """What a recording is called, and what it commands.

    Attributes:
        stated: its name; of a policy, which one and what it was asked to do.
        joints: names, sorted: recordings may differ in the order of their columns.
        command: (T, J) rad, NaN where it is not known; None where a policy decided, or nothing is.
    """

    stated: str
    joints: tuple[str, ...]
    command: np.ndarray | None

    @classmethod
    def by(cls, recording: Recording) -> Asked:
        """Of a recording; single precision is plenty to compare commands."""
        name, policy, target = recording.name, recording.conditions.policy, recording.target
        joints = tuple(sorted(recording.joints))
        if policy or target is None or not np.isfinite(target).any():
            return cls(f"{policy}: {name}" if policy else name, joints, None)
        ordered = target[:, [recording.joints.index(j) for j in joints]]
        return cls(name, joints, np.where(np.isfinite(ordered), ordered, np.nan).astype(np.float32))


def _same_commands(asked: Sequence[Asked]) -> Iterator[tuple[int, int]]:
    """Pairs of recordings that link every motion together."""
    unique: dict[tuple[tuple[str, ...], bytes], int] = {}
    for i, one in enumerate(asked):
        yield unique.setdefault((one.joints, _digest(one.command)), i), i
    by_joints: dict[tuple[str, ...], list[int]] = {}
    for (joints, _), i in unique.items():
        by_joints.setdefault(joints, []).append(i)
    for members in by_joints.values():
        commands = (asked[i].command for i in members)
        yield from _linked(members, [c for c in commands if c is not None])


def _linked(members: list[int], commands: list[np.ndarray]) -> Iterator[tuple[int, int]]:
    """The same among recordings of the same joints, by complete linkage."""
    near = _near(commands)
    for part in range(int(near.max(initial=-1)) + 1):
        some = np.flatnonzero(near == part)
        if len(some) < 2:
            continue
        apart = [_apart(commands[a], commands[b]) for a, b in combinations(some, 2)]
        found = fcluster(linkage(np.minimum(apart, 1e9), "complete"), ALIKE, "distance")
        for cluster in np.unique(found):
            own = some[found == cluster]
            yield from ((members[own[0]], members[i]) for i in own[1:])


def _near(commands: list[np.ndarray]) -> np.ndarray:
    """Groups outside of which nothing is alike, from a few samples that all recordings have."""
    shortest = min(len(c) for c in commands)
    at = np.linspace(0, shortest - 1, GLANCES).round().astype(int)
    glances = np.array([c[at].ravel() for c in commands])
    glances = glances[:, np.isfinite(glances).all(axis=0)]
    if not glances.size:  # no command is known in all of them: nothing is told apart at a glance
        return np.zeros(len(commands), int)
    pairs = KDTree(glances).query_pairs(ALIKE * (1 + 1e-9), p=np.inf, output_type="ndarray")
    return _components([tuple(p) for p in pairs], len(commands))


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    """Largest distance between two commands over the samples that both have, rad."""
    both = min(len(one), len(other))
    return apart(one[:both], other[:both], both / max(len(one), len(other)))


def apart(one: np.ndarray, other: np.ndarray, share: float) -> float:
    """Largest distance between commands at the same moments, rad; infinite where they say nothing.

    Args:
        one: (n, J), NaN where it is not known.
        other: the same of another recording.
        share: of the longer recording that these moments are taken from.
    """
    distance = np.abs(one - other)
    known = np.isfinite(distance)
    if not known.any() or (share < OVERLAP and not _moves(np.where(known, one, np.nan))):
        return np.inf
    return float(distance[known].max())


def _moves(command: np.ndarray) -> bool:
    """Whether a joint is sent further than MOVED."""
    seen = command[:, np.isfinite(command).any(axis=0)]
    return bool((np.nanmax(seen, axis=0) - np.nanmin(seen, axis=0) > MOVED).any())


def _components(pairs: Sequence[tuple[int, int]], count: int) -> np.ndarray:
    if not pairs:
        return np.arange(count)
    rows, columns = np.array(pairs).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def _digest(command: np.ndarray | None) -> bytes:
    return hashlib.sha256(b"" if command is None else command.tobytes()).digest()
