"""Everything that can be said about recordings that are already in a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.preparation import orientation, placement, quality
from gapless.recordings.preparation.delay import Delay, estimate
from gapless.recordings.preparation.delay_comparison import compare_delays
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

NEEDED_FOR = {
    "target": "replay, gap metrics, identification and corrections",
    "torque": "torque errors and torque-based identification",
    "dq": "velocities (positions are differentiated instead)",
    "base_quat_wxyz": "whole-body errors and free-floating replay",
    "gains": "replay with the gains that were used (the robot's own are taken)",
    "payloads": "telling load from model error",
}
"""What cannot be computed without a channel or condition."""
KEPT_BYTES = 256e6
"""Memory for the recordings whose delays are compared with each other; the rest are not."""


@dataclass(frozen=True)
class CheckReport:
    """Findings of a dataset, with counts.

    Attributes:
        recordings: number of recordings.
        seconds: their total duration.
        samples: joint samples of logged joints, and how many of them are masked, by reason.
        findings: all findings, errors first.
        missing: channel or condition -> number of recordings without it.
    """

    recordings: int
    seconds: float
    samples: int
    masked: dict[str, int]
    findings: list[Finding] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not any(f.severity == "error" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "ok": self.ok,
            "recordings": self.recordings,
            "seconds": round(self.seconds, 3),
            "samples": self.samples,
            "masked": self.masked,
            "missing": {
                k: {"recordings": n, "needed_for": NEEDED_FOR[k]} for k, n in self.missing.items()
            },
            "findings": [f.to_dict() for f in self.findings],
        }


def check(recording: Recording, robot: Robot, delay: Delay | None = None) -> list[Finding]:
    """Check one recording: content, limits, orientation and placement in time.

    Args:
        recording: what to check.
        robot: the robot it is of.
        delay: its measured delay, where it is known already.
    """
    findings = [
        *quality.unknown_joints(recording, robot),
        *quality.stuck(recording)[1],
        *quality.saturated(recording)[1],
        *quality.followed(recording),
        *quality.powerless(recording),
        *quality.beyond_limits(recording, robot),
        *orientation.check_order(recording),
        *orientation.check_renewal(recording),
        *_in_time(recording, estimate([recording]) if delay is None else delay),
    ]
    findings += _from_import(recording, {f.code for f in findings})
    return [f.of(recording.name) for f in findings]


def check_dataset(dataset: Iterable[Recording], robot: Robot) -> CheckReport:
    """Check every recording, and the recordings against each other.

    Args:
        dataset: a Dataset, or any recordings of one robot.
        robot: the robot they are of.
    """
    findings: list[Finding] = []
    masked, missing = Counter[str](), Counter[str]()
    compared: list[tuple[Recording, Delay]] = []
    count, samples, seconds, kept = 0, 0, 0.0, 0
    for recording in dataset:
        count, seconds = count + 1, seconds + recording.duration
        logged = [j not in recording.conditions.held for j in recording.joints]
        samples += recording.mask[:, logged].size
        masked += _masked(recording, logged)
        missing.update(absent(recording))
        delay = estimate([recording])
        findings += check(recording, robot, delay)
        if kept < KEPT_BYTES:
            compared.append((_without_channels(recording), delay))
            kept += 3 * compared[-1][0].q.nbytes
    findings += compare_delays(*zip(*compared, strict=True)) if compared else []
    rank = {"error": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda f: rank[f.severity])
    return CheckReport(count, seconds, samples, dict(masked), findings, dict(missing))


def absent(recording: Recording) -> list[str]:
    """Names (keys of NEEDED_FOR) of what a recording lacks."""
    there = {
        "target": recording.target is not None,
        "torque": "torque" in recording.channels,
        "dq": "dq" in recording.channels,
        "base_quat_wxyz": "base_quat_wxyz" in recording.channels,
        "gains": bool(recording.conditions.gains),
        "payloads": recording.conditions.payloads is not None,
    }
    return [name for name, yes in there.items() if not yes]


def _masked(recording: Recording, logged: list[bool]) -> Counter[str]:
    """Masked samples by the reason noted at import; what nobody explained is "unexplained"."""
    total = int((~recording.mask[:, logged]).sum())
    reasons = Counter({k: int(v) for k, v in recording.provenance.get("masked", {}).items()})
    rest = total - sum(reasons.values())
    return reasons + Counter({"unexplained": max(rest, 0)})


def _without_channels(recording: Recording) -> Recording:
    """Only what a delay needs, so that a large dataset does not stay in memory twice."""
    rows = slice(0, 6000)
    target = recording.target
    return replace(
        recording,
        q=recording.q[rows].astype(np.float32),
        target=None if target is None else target[rows].astype(np.float32),
        mask=recording.mask[rows].copy(),
        channels={},
    )


def _from_import(recording: Recording, told: set[str]) -> Iterator[Finding]:
    """What the import found, and what is left of it no longer shows."""
    facts = recording.provenance
    for code in (c for c in recording.flags if c not in told):
        yield Finding("error", code, f"flagged as {code} when it was imported")
    if count := int(facts.get("interpolated", 0)):
        text = f"{count} frames lie where a few samples were missing and were bridged at import"
        yield Finding("info", "interpolated", text, count=count)
    if count := int(facts.get("torque_saturated", 0)):
        text = f"{count} torque samples were flat at their extreme and were dropped at import"
        yield Finding("warning", "torque_saturated", text, count=count)


def _in_time(recording: Recording, delay: Delay) -> list[Finding]:
    """What is wrong with the place of the commands, and how late the joints follow them.

    A policy answers what the joints did, so that its lag is not the robot's own: of its takes only
    what is wrong is told.
    """
    verdict = placement.judge(recording, delay, 0)
    found = [_not_repaired(f) if f.code == "moved" else f for f in verdict.findings]
    found += [Finding("error", "not_placed", problem) for problem in verdict.problems]
    found += _delay_finding(recording, delay)
    return [f for f in found if f.severity != "info" or not recording.conditions.policy]


def _not_repaired(finding: Finding) -> Finding:
    """A check moves nothing: a slip it proves is an error of the dataset."""
    text = "the joints respond one step before their commands; import the logs again"
    return replace(finding, severity="error", code="not_placed", message=text)


def _delay_finding(recording: Recording, delay: Delay) -> list[Finding]:
    if not delay.known:
        return []
    lag, std = 1e3 * delay.lag / recording.rate, 1e3 * delay.std / recording.rate
    return [Finding("info", "delay", f"joints respond {lag:.0f} ± {std:.0f} ms after commands")]
