"""Recordings against each other: is one shifted by a step against the rest?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.preparation.delay import Delay, estimate
from gapless.recordings.recording import Recording

Key = TypeVar("Key", bound=Hashable)
STEP = 0.6
"""Deviation in steps that counts as a shift of one."""
SCATTER = 0.08
"""Least scatter of the lag between honest repetitions, in steps (measured on real logs)."""

WITNESSES = 2
"""Joints of a source that must tell their lag before it is compared with other sources."""
UNIFORM = 0.35
"""Steps by which the joints of one slipped recording may differ in their shift."""


def compare_delays(
    recordings: Sequence[Recording], delays: Sequence[Delay] | None = None
) -> list[Finding]:
    """Flag recordings whose command delay differs from that of their peers by about a step.

    Repetitions of one motion are compared with each other; then each source file (all its
    recordings pooled, because a single short ramp cannot tell) with the other files. The lag of a
    joint depends on the motion, so peers must agree among themselves before one of them is blamed.
    It depends on the gains too: only recordings of the same gains are compared. A policy answers
    what the joints did: the lag of its commands says as much about it as about the robot, and no
    two of its takes repeat a command. They are compared with nothing.

    Args:
        recordings: of one robot.
        delays: of each recording, where they are known already.
    """
    usable = {i: r for i, r in enumerate(recordings) if _is_comparable(r)}

    def measured(group: list[int]) -> Delay:
        if delays is not None and len(group) == 1:
            return delays[group[0]]
        return estimate([usable[i] for i in group])

    findings: dict[int, Finding] = {}
    # Columns are compared, so only recordings with the same joints and rate are.
    motions = _group(usable, lambda r: (r.name, r.joints, r.rate, _gains(r)))
    for group in (g for g in motions.values() if len(g) > 1):
        found = [measured([i]) for i in group]
        for k, shift in _outliers(found, f"motion {usable[group[0]].name!r}"):
            label = f"recording {group[k]} (repetition {k + 1} of {len(group)})"
            findings[group[k]] = _finding(usable[group[k]], label, shift)
    for alike in _group(usable, _gains).values():
        for group, source, shift in _odd_sources({i: usable[i] for i in alike}, measured):
            for i in group:
                findings.setdefault(i, _finding(usable[i], f"source {source!r}", shift))
    return list(findings.values())


def _is_comparable(recording: Recording) -> bool:
    """Whether it has commands that were fixed before."""
    return recording.target is not None and not recording.conditions.policy


def _odd_sources(
    usable: Mapping[int, Recording], measured: Callable[[list[int]], Delay]
) -> list[tuple[list[int], str, str]]:
    """Sources whose commands are shifted: their recordings, their name, and the words."""
    sources = _group(usable, lambda r: str(r.provenance.get("source", r.name)))
    if len(sources) <= 2 or len({(r.joints, r.rate) for r in usable.values()}) > 1:
        return []
    pooled = {name: measured(group) for name, group in sources.items()}
    # Sources hold different motions; one joint alone is no witness.
    told = {name: d for name, d in pooled.items() if d.confident.sum() >= WITNESSES}
    odd = _outliers(list(told.values()), "the other sources") if len(told) > 2 else []
    return [(sources[name], name, shift) for name, shift in ((list(told)[k], s) for k, s in odd)]


def _group(
    recordings: Mapping[int, Recording], key: Callable[[Recording], Key]
) -> dict[Key, list[int]]:
    groups: dict[Key, list[int]] = defaultdict(list)
    for i, recording in recordings.items():
        groups[key(recording)].append(i)
    return groups


def _gains(recording: Recording) -> tuple[Hashable, ...]:
    """The gains that a log states, roughly: a supply that sags a little is no other gain."""
    stated = recording.conditions.gains
    return tuple((j, *(f"{g:.2g}" for g in stated[j])) for j in sorted(stated))


def _finding(recording: Recording, label: str, shift: str) -> Finding:
    text = f"{label}: {shift}; check how its rows pair commands with states"
    return Finding("warning", "shifted", text, None, 1, recording.name)


def deviations(delays: Sequence[Delay], peers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Each delay minus the other peers' median, pooled over joints, and its error, in steps."""
    lag = np.stack([np.where(d.confident, d.joint_lag, np.nan) for d in delays])
    std = np.stack([d.joint_std for d in delays])
    deviation, error = np.full(len(delays), np.nan), np.full(len(delays), np.nan)
    for i in range(len(delays)):
        others = [k for k in peers if k != i]
        told = np.isfinite(lag[i]) & np.isfinite(lag[others]).any(axis=0)
        if not told.any():
            continue
        there = lag[np.ix_(others, told)]
        middle = np.nanmedian(there, axis=0)
        # Most peers must agree, not half of them: clips of one sweep differ by what they contain.
        scatter = np.nanquantile(np.abs(there - middle), 0.8, axis=0)
        weight = 1.0 / (std[i, told] ** 2 + scatter**2 + SCATTER**2)
        apart = lag[i, told] - middle
        shared = np.sum(weight * apart) / weight.sum()
        # A slip moves every joint alike; a motion with other speeds does not.
        if np.mean(np.abs(apart - shared) < UNIFORM + 2 * std[i, told]) < 0.7:
            continue
        deviation[i] = shared
        # Joints of one robot share their causes: the error does not shrink with their number.
        error[i] = weight.max() ** -0.5
    return deviation, error


def _outliers(delays: list[Delay], against: str) -> list[tuple[int, str]]:
    """Blame the clearest deviation, compare the rest without it, and so on up to half of them.

    Returns:
        number of each delay that is blamed, and by how much it is off, in words.
    """
    found: list[tuple[int, str]] = []
    peers = list(range(len(delays)))
    while len(found) < max(len(delays) // 2, 1) and len(peers) > 1:
        deviation, error = deviations(delays, peers)
        clear = np.abs(deviation) > np.maximum(STEP, 3 * error)
        ratio = np.where(clear, np.abs(deviation) / error, 0.0)
        worst = max(peers, key=lambda i: ratio[i])
        if ratio[worst] == 0.0:
            break
        peers.remove(worst)
        unsure = " (or the other one is)" if len(delays) == 2 else ""
        amount = f"{deviation[worst]:+.2f} ± {error[worst]:.2f} steps"
        found.append((worst, f"its commands are shifted by {amount} against {against}{unsure}"))
    return found
