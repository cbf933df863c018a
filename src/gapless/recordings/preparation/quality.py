"""Is the content of a recording believable: encoders, torque, IMU, and did the robot follow?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.recording import Recording

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

STUCK_TIME, STUCK_MOVE, STUCK_AFTER = 1.0, 0.15, 0.3
"""An encoder is stuck if it stands still this long (s) while its target moves this far (rad),
and for this long (s) after: a joint at rest also waits out its own delay."""
NOT_FOLLOWED, NOT_FOLLOWED_SHARE = 0.5, 0.25
"""Median distance to the target (rad), and the share of joints beyond it, of a failed run."""
BEYOND_LIMIT = 0.1
"""rad a joint may be outside its limits before it is mentioned."""
FLAT_COUNT, FLAT_RUN = 10, 3
"""Samples at the very extreme of a channel, and in a row, that make it saturated."""


def stuck(recording: Recording) -> tuple[np.ndarray, list[Finding]]:
    """Samples of encoders that stand still while their target moves clearly.

    Returns:
        (T, J) True where stuck, and one finding a joint.
    """
    bad, findings = np.zeros(recording.q.shape, dtype=bool), []
    if recording.target is None:
        return bad, findings
    least = int(np.ceil(STUCK_TIME * recording.rate))
    after = int(STUCK_AFTER * recording.rate)
    for j in np.flatnonzero(recording.mask.any(axis=0)):
        joint = recording.joints[j]
        for start, stop in _still(recording.q[:, j], least):
            if np.ptp(recording.target[start : stop - after, j]) > STUCK_MOVE:
                bad[start:stop, j] = recording.mask[start:stop, j]
        count = int(bad[:, j].sum())
        if count:
            text = f"{joint} stood still for {count / recording.rate:.1f} s while commanded to move"
            findings.append(Finding("warning", "stuck", text, joint, count))
    return bad, findings


def _still(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Runs of at least `least` samples without any change."""
    edges = np.r_[0, np.flatnonzero(np.diff(values) != 0) + 1, len(values)]
    lengths = np.diff(edges)
    return [(int(edges[k]), int(edges[k + 1])) for k in np.flatnonzero(lengths >= least)]


def saturated(recording: Recording) -> list[Finding]:
    """Torque and IMU channels that are flat at their extreme."""
    findings = []
    for name, code in (
        ("torque", "torque_saturated"),
        ("imu_acc", "imu_clipped"),
        ("imu_gyro", "imu_clipped"),
    ):
        values = recording.channels.get(name, np.empty((0, 0)))
        for j in np.flatnonzero(np.isfinite(values).any(axis=0)):
            column = values[:, j]
            count = _flat(column)
            if count:
                joint = recording.joints[j] if name == "torque" else None
                where = joint or f"{name} axis {j}"
                peak = np.nanmax(np.abs(column))
                text = f"{where}: {name} is flat at its extreme {peak:.4g} in {count} samples"
                findings.append(Finding("warning", code, text, joint, count))
    return findings


def _flat(column: np.ndarray) -> int:
    """Number of samples at the extreme, if they are many, in a row, and not all there is."""
    finite = column[np.isfinite(column)]
    size = np.abs(finite)
    top = size >= size.max() * (1 - 1e-6)
    if top.sum() < FLAT_COUNT or np.ptp(finite) == 0:
        return 0
    runs = np.flatnonzero(np.convolve(top, np.ones(FLAT_RUN), "valid") == FLAT_RUN)
    return int(top.sum()) if len(runs) else 0


def followed(recording: Recording) -> list[Finding]:
    """An error if several joints stayed far from their targets for most of the time."""
    used = np.flatnonzero(recording.mask.any(axis=0))
    if recording.target is None or not len(used):
        return []
    mask, least = recording.mask[:, used], np.ceil(NOT_FOLLOWED_SHARE * len(used))
    error = np.abs(recording.target[:, used] - recording.q[:, used])
    often = 2 * ((error > NOT_FOLLOWED) & mask).sum(axis=0) >= mask.sum(axis=0)
    if often.sum() < least:  # no need of medians, which cost much more
        return []
    typical = np.nanmedian(np.where(mask, error, np.nan), axis=0)
    far = typical > NOT_FOLLOWED
    if far.sum() < least:
        return []
    names = ", ".join(f"{recording.joints[used[k]]} {typical[k]:.2f}" for k in np.flatnonzero(far))
    text = (
        f"the robot did not follow its commands: {int(far.sum())} of {len(used)} joints were "
        f"typically more than {NOT_FOLLOWED} rad away ({names} rad)"
    )
    return [Finding("error", "not_followed", text, count=int(far.sum()))]


def beyond_limits(recording: Recording, robot: Robot) -> list[Finding]:
    """Joints outside their limits: the log's zero or sign may differ from the model's."""
    lower, upper = robot.joints.lower, robot.joints.upper
    beyond = (recording.q > upper + BEYOND_LIMIT) | (recording.q < lower - BEYOND_LIMIT)
    findings = []
    for j in np.flatnonzero((beyond & recording.mask).any(axis=0)):
        q = recording.q[recording.mask[:, j], j]
        out = np.maximum(q - upper[j], lower[j] - q)
        count, most = int((out > BEYOND_LIMIT).sum()), float(out.max())
        text = (
            f"{recording.joints[j]} is up to {most:.2f} rad outside its limits in {count} samples; "
            "the log's zero or sign may differ from the model's"
        )
        findings.append(Finding("warning", "beyond_limits", text, recording.joints[j], count))
    return findings
