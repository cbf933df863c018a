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
and for this long (s) after: a joint at rest also waits out its own delay. A shorter
rest of the recording counts with it: nothing shows that a drive which was off is on again."""
NOT_FOLLOWED, NOT_FOLLOWED_SHARE = 0.5, 0.25
"""Median distance to the target (rad), and the share of joints beyond it, of a failed run."""
ASKED, NOTHING = 1.0, 0.1
"""N·m from which a motor is asked something, and the share of it that is nothing."""
ALONG = 0.8
"""Correlation of a joint with its target above which it follows, however far below it hangs."""
SOFT = 0.95
"""Share of its target's motion below which a joint gives way; one that makes all of it, far
off, is not soft: its zero is wrong."""
BEYOND_LIMIT = 0.1
"""rad a joint may be outside its limits before it is mentioned."""
KNOCK, BRIEFLY = 0.2, 0.1
"""rad, and s in all, by which a landing knocks a joint past its stop, which gives way."""
DEGREES = 0.2
"""rad between a joint's limits below which they were perhaps meant in another unit."""
FLAT_COUNT, FLAT_RUN = 10, 3
"""Samples at the very extreme of a channel, and in a row, that make it saturated."""
FLAT = 1e-6
"""Share of the extreme within which a sample is at it."""


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
                over = len(recording) if len(recording) - stop < least else stop
                bad[start:over, j] = recording.mask[start:over, j]
        count = int(bad[:, j].sum())
        if count:
            text = (
                f"{joint} stood still for {count / recording.rate:.1f} s while commanded to move; "
                "if friction held it, import with --keep-still"
            )
            findings.append(Finding("warning", "stuck", text, joint, count))
    return bad, findings


def _still(values: np.ndarray, least: int) -> list[tuple[int, int]]:
    """Runs of at least `least` samples without any change."""
    edges = np.r_[0, np.flatnonzero(np.diff(values) != 0) + 1, len(values)]
    lengths = np.diff(edges)
    return [(int(edges[k]), int(edges[k + 1])) for k in np.flatnonzero(lengths >= least)]


def saturated(recording: Recording) -> tuple[np.ndarray, list[Finding]]:
    """Torque and IMU channels that are flat at an extreme.

    Returns:
        (T, J) True where the torque is flat, and one finding a column. The positions stay usable.
    """
    flat, findings = np.zeros(recording.q.shape, dtype=bool), []
    for name in ("torque", "imu_acc", "imu_gyro"):
        values = recording.channels.get(name, np.empty((0, 0)))
        for j in np.flatnonzero(np.isfinite(values).any(axis=0)):
            found = _flat(values[:, j])
            if not found.any():
                continue
            if name == "torque":
                flat[:, j] = found
            findings.append(_flat_finding(recording, name, int(j), found))
    return flat, findings


def _flat_finding(recording: Recording, name: str, j: int, flat: np.ndarray) -> Finding:
    joint = recording.joints[j] if name == "torque" else None
    code = "torque_saturated" if joint else "imu_clipped"
    levels = " and ".join(f"{x:.4g}" for x in _levels(recording.channels[name][flat, j]))
    where, count = f"{name} of {joint}" if joint else f"{name} axis {j}", int(flat.sum())
    text = f"{where} is flat at its extreme ({levels}) in {count} samples"
    return Finding("warning", code, text, joint, count)


def _levels(values: np.ndarray) -> list[float]:
    """The lowest and the highest value; one number where they are equal."""
    low, high = float(values.min()), float(values.max())
    return [low, high] if high - low > FLAT * abs(high) else [high]


def _flat(column: np.ndarray) -> np.ndarray:
    """Samples at an extreme, if they are many, in a row, and not all there is."""
    known = np.isfinite(column)
    values = np.where(known, column, 0.0)
    flat, largest = np.zeros(len(column), dtype=bool), np.abs(values).max()
    if np.ptp(column[known]) == 0:
        return flat
    for side in (values, -values):
        top = known & (side >= side.max() * (1 - FLAT))
        runs = np.convolve(top, np.ones(FLAT_RUN), "valid") == FLAT_RUN
        # The smaller of two extremes is a limit only if it is of the same order: rest is none.
        if side.max() > 0.5 * largest and top.sum() >= FLAT_COUNT and runs.any():
            flat |= top
    return flat


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
    along = [_moves_along(recording, int(j)) for j in used]
    far = (typical > NOT_FOLLOWED) & ~np.array(along)
    if far.sum() < least:
        return []
    names = ", ".join(f"{recording.joints[used[k]]} {typical[k]:.2f}" for k in np.flatnonzero(far))
    text = (
        f"the robot did not follow its commands: {int(far.sum())} of {len(used)} joints were "
        f"typically more than {NOT_FOLLOWED} rad away ({names} rad), first at "
        f"{_first(error[:, far] > NOT_FOLLOWED, recording.rate):.1f} s. Was its torque on? Cut the "
        "log there if it was switched off"
    )
    return [Finding("error", "not_followed", text, count=int(far.sum()))]


def powerless(recording: Recording) -> list[Finding]:
    """An error if motors did nothing of what was asked: a robot's own watchdog had damped it."""
    torque, told = recording.channels.get("torque"), recording.conditions.gains
    if torque is None or recording.target is None or not set(recording.joints) <= set(told):
        return []
    asked = np.array([told[j][0] for j in recording.joints]) * (recording.target - recording.q)
    much = recording.mask & np.isfinite(torque) & (np.abs(asked) > ASKED)
    given = float(np.abs(torque[much]).sum() / max(np.abs(asked[much]).sum(), 1e-9))
    if much.mean() < NOT_FOLLOWED_SHARE or given > NOTHING:
        return []
    text = (
        f"the motors gave {100 * given:.0f} % of the torque that was asked: was the robot's power "
    )
    return [Finding("error", "not_followed", text + "on? Leave this recording out", count=1)]


def _moves_along(recording: Recording, joint: int) -> bool:
    """Whether a joint that is far off moves with its target, by less: a soft servo hangs."""
    assert recording.target is not None
    known = recording.mask[:, joint]
    q, target = recording.q[known, joint], recording.target[known, joint]
    if min(q.std(), target.std()) < 1e-3:
        return False
    together = np.corrcoef(q, target)[0, 1]
    return bool(together > ALONG and together * q.std() < SOFT * target.std())


def _first(far: np.ndarray, rate: float) -> float:
    """Seconds until any joint is far from its command."""
    return float(far.any(axis=1).argmax() / rate)


def beyond_limits(recording: Recording, robot: Robot) -> list[Finding]:
    """Joints outside their limits: the log's zero or sign may differ from the model's."""
    lower, upper = (_by_name(recording, robot, x) for x in (robot.joints.lower, robot.joints.upper))
    out = np.maximum(recording.q - upper, lower - recording.q)
    beyond = (out > BEYOND_LIMIT) & recording.mask
    count, far = beyond.sum(axis=0), (beyond & (out > KNOCK)).any(axis=0)
    return [
        _beyond_finding(recording.joints[j], out[beyond[:, j], j], float(upper[j] - lower[j]))
        for j in np.flatnonzero(far | (count > BRIEFLY * recording.rate))
    ]


def _beyond_finding(joint: str, out: np.ndarray, span: float) -> Finding:
    text = (
        f"{joint} is up to {out.max():.2f} rad outside its limits in {len(out)} samples; "
        "the log's zero or sign may differ from the model's"
    )
    if span < DEGREES:
        text += (
            f". The limits are only {span:.2g} rad apart: are they meant in "
            'radians? MJCF takes degrees unless it has <compiler angle="radian"/>'
        )
    return Finding("warning", "beyond_limits", text, joint, len(out))


def _by_name(recording: Recording, robot: Robot, values: np.ndarray) -> np.ndarray:
    """The robot's values in the recording's columns; NaN for joints that the robot lacks."""
    known = dict(zip(robot.joints.names, values, strict=True))
    return np.array([known.get(joint, np.nan) for joint in recording.joints])


def unknown_joints(recording: Recording, robot: Robot) -> list[Finding]:
    """Joints of the recording that the robot lacks; what it has locked, it has."""
    known = {*robot.joints.names, *robot.locked}
    lacking = [joint for joint in recording.joints if joint not in known]
    if not lacking:
        return []
    text = (
        f"{len(lacking)} of {len(recording.joints)} joints are not joints of {robot.name!r} and "
        f"were not checked: {', '.join(lacking)}. Is it the right robot (--robot)?"
    )
    return [Finding("warning", "unknown_joints", text, count=len(lacking))]
