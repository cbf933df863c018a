"""Recordings against each other: is one shifted by a step against the rest?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.preparation.delay import Delay, estimate
from gapless.recordings.recording import Recording

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

    Args:
        recordings: of one robot.
        delays: of each recording, where they are known already.
    """
    usable = [r for r in recordings if r.target is not None]
    known = {id(r): d for r, d in zip(recordings, delays or (), strict=bool(delays))}

    def measured(group: list[Recording]) -> Delay:
        alone = known.get(id(group[0])) if len(group) == 1 else None
        return estimate(group) if alone is None else alone

    findings: dict[str, Finding] = {}
    motions = _group(usable, lambda r: r.name)
    for name, group in ((n, g) for n, g in motions.items() if len(g) > 1):
        labels = [_label(r, i) for i, r in enumerate(group)]
        for finding in _outliers(labels, [measured([r]) for r in group], f"motion {name!r}"):
            findings.setdefault(finding.recording, finding)
    sources = _group(usable, lambda r: str(r.provenance.get("source", r.name)))
    if len(sources) > 2 and len({(r.joints, r.rate) for r in usable}) == 1:
        pooled = {name: measured(group) for name, group in sources.items()}
        # Sources hold different motions; one joint alone is no witness.
        told = {name: d for name, d in pooled.items() if d.confident.sum() >= WITNESSES}
        if len(told) > 2:
            for finding in _outliers(list(told), list(told.values()), "the other sources"):
                findings.setdefault(finding.recording, finding)
    return list(findings.values())


def _group(
    recordings: Sequence[Recording], key: Callable[[Recording], str]
) -> dict[str, list[Recording]]:
    groups: dict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        groups[key(recording)].append(recording)
    return groups


def _label(recording: Recording, number: int) -> str:
    return str(recording.provenance.get("episode", f"{recording.name}#{number}"))


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


def _outliers(labels: list[str], delays: list[Delay], against: str) -> list[Finding]:
    """Blame the clearest deviation, compare the rest without it, and so on up to half of them."""
    findings: list[Finding] = []
    peers = list(range(len(delays)))
    while len(findings) < max(len(delays) // 2, 1) and len(peers) > 1:
        deviation, error = deviations(delays, peers)
        clear = np.abs(deviation) > np.maximum(STEP, 3 * error)
        ratio = np.where(clear, np.abs(deviation) / error, 0.0)
        worst = max(peers, key=lambda i: ratio[i])
        if ratio[worst] == 0.0:
            break
        peers.remove(worst)
        unsure = " (or the other one is)" if len(delays) == 2 else ""
        message = (
            f"{labels[worst]}: its commands are shifted by {deviation[worst]:+.2f} ± "
            f"{error[worst]:.2f} steps against {against}{unsure}; check how its rows pair "
            "commands with states"
        )
        findings.append(Finding("warning", "shifted", message, None, 1, labels[worst]))
    return findings
