"""Quaternions: unit length, whether w comes first, and how often they are new."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.recording import Recording

QUATERNIONS = ("base_quat_wxyz", "imu_quat_wxyz")
GRAVITY, STEADY = 9.81, 1.5
"""m/s²: samples whose acceleration is within STEADY of GRAVITY show where down is."""
CONTRADICTS = 0.6
"""Typical distance between two unit vectors (35 deg) that no mounting error explains."""
HELD, MOVES = 0.1, 0.05
"""An orientation is old that stays the same this long (s) while a joint moves this far (rad)."""


def norm_problem(name: str, quats: np.ndarray) -> str | None:
    """Say so if quaternions are not of unit length."""
    norm = np.linalg.norm(quats[np.isfinite(quats).all(axis=1)], axis=1)
    wrong = np.abs(norm - 1) > 0.05
    if not len(norm) or wrong.mean() < 0.05:
        return None
    return (
        f"{name}: {wrong.mean():.0%} of the quaternions are not of unit length (median norm "
        f"{np.median(norm):.3g}); check which columns they are"
    )


def check_order(recording: Recording) -> list[Finding]:
    """Compare quaternions with gravity (accelerometer), or weakly with an upright robot."""
    findings = []
    acceleration = recording.channels.get("imu_acc")
    for name in QUATERNIONS:
        quats = recording.channels.get(name)
        if quats is None or not np.isfinite(quats).any():
            continue
        if acceleration is not None and name == "imu_quat_wxyz":
            findings += _against_gravity(name, quats, acceleration)
        else:
            findings += _against_upright(name, quats)
    return findings


def renewed(values: np.ndarray) -> np.ndarray:
    """(T,) True where a reading is not that of the sample before."""
    return np.r_[True, (np.diff(values, axis=0) != 0).any(axis=1)]


def check_renewal(recording: Recording) -> list[Finding]:
    """An IMU that is read more rarely than the joints: most of its samples repeat an old one."""
    quats = recording.channels.get("imu_quat_wxyz")
    if quats is None or not np.isfinite(quats).all():
        return []
    new = renewed(quats)
    edges = [*np.flatnonzero(new).tolist(), len(quats)]
    old = [
        b - a
        for a, b in pairwise(edges)
        if b - a > HELD * recording.rate and np.ptp(recording.q[a:b], axis=0).max() > MOVES
    ]
    if not old:
        return []
    text = (
        f"imu_quat_wxyz stays the same for up to {max(old) / recording.rate:.2f} s while joints "
        f"move ({new.mean():.0%} of its samples are new): between them the robot's lean is a guess"
    )
    return [Finding("warning", "old_orientation", text, count=int((~new).sum()))]


def up_in_body(quats: np.ndarray) -> np.ndarray:
    """(T, 3) the world's up direction seen from the body; quaternions are wxyz."""
    w, x, y, z = quats.T
    return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)


def _against_gravity(name: str, quats: np.ndarray, acceleration: np.ndarray) -> list[Finding]:
    size = np.linalg.norm(acceleration, axis=1)
    steady = np.abs(size - GRAVITY) < STEADY
    steady &= np.isfinite(quats).all(axis=1)
    if steady.sum() < 10:
        return []
    up = acceleration[steady] / size[steady, None]
    as_said, swapped = (
        float(np.median(np.linalg.norm(up_in_body(q[steady]) - up, axis=1)))
        for q in (quats, np.roll(quats, 1, axis=1))
    )
    # Near upright both orders point up; only the direction of the tilt tells them apart.
    better = as_said > 0.05 and swapped < 0.5 * as_said
    if as_said < CONTRADICTS and not better:
        return []
    hint = " Read as xyzw they agree." if better else ""
    text = f"{name} contradicts the accelerometer by {np.degrees(as_said):.0f} deg.{hint}"
    return [Finding("error", "quat_order", text, count=int(steady.sum()))]


def _against_upright(name: str, quats: np.ndarray) -> list[Finding]:
    good = quats[np.isfinite(quats).all(axis=1)]
    as_said = float(np.median(up_in_body(good)[:, 2]))
    swapped = float(np.median(up_in_body(np.roll(good, 1, axis=1))[:, 2]))
    if as_said < 0.5 and swapped > 0.85:
        text = (
            f"{name} says the robot lies down (up·z {as_said:.2f}); read as xyzw it stands "
            f"({swapped:.2f}). Check the order of the columns"
        )
        return [Finding("warning", "quat_order", text, count=len(good))]
    if swapped > 0.85 and float(np.median(np.abs(good[:, 3]))) > 0.9:
        text = f"{name}: the robot faces backwards (z near 1), or the columns are xyzw"
        return [Finding("info", "quat_order", text, count=len(good))]
    return []
