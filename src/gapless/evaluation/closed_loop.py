"""Predict the robot: a log under a policy against the same policy in simulators.

A walking robot's commands, replayed open loop, soon fall over; so the two are compared by what
walking looks like over many strides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance

from gapless.errors import DataError
from gapless.printing import PrintsAsTables
from gapless.recordings.recording import Recording
from gapless.robots.rotations import rotate

SETTLE = 1.0
"""Seconds at the start of every clip that are not counted."""
STRIDES = (0.3, 4.0)
"""Frequencies among which a gait is looked for, Hz."""
UP = np.array([0.0, 0.0, 1.0])

Quantity = Callable[[Recording], np.ndarray | None]
"""Something about a clip; None where its log lacks it."""


@dataclass(frozen=True)
class Likeness:
    """One thing about walking.

    Attributes:
        name: what is compared.
        unit: of it and of the distances.
        robot: its mean on the robot; None where a mean says little.
        simulated: world -> the same there.
        distance: world -> how far its distribution is from the robot's (Wasserstein-1); of a
            single number, the difference.
    """

    name: str
    unit: str
    robot: float | None
    simulated: Mapping[str, float | None]
    distance: Mapping[str, float]


@dataclass(frozen=True)
class ClosedLoop(PrintsAsTables):
    """What simulators predicted of a robot under a policy, beside what it did."""

    rows: tuple[Likeness, ...]
    recordings: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)

    def __rich__(self) -> Any:
        from gapless.evaluation.closed_loop_table import closed_loop_table

        return closed_loop_table(self)


def compare_closed_loop(
    robot: Sequence[Recording], simulated: Mapping[str, Sequence[Recording]]
) -> ClosedLoop:
    """Distances between distributions of what a policy did.

    Args:
        robot: recordings of the robot under the policy.
        simulated: world -> recordings of the same policy under the same commands.
    """
    real = [r for r in map(_settled, robot) if r is not None]
    worlds = {
        name: [r for r in map(_settled, own) if r is not None] for name, own in simulated.items()
    }
    if not real or not all(worlds.values()):
        raise DataError(f"nothing is left to compare after the first {SETTLE:g} s of every clip")
    joints = _shared_joints([*real, *(r for own in worlds.values() for r in own)])
    rows = [_row(name, unit, _columns(of, joints), real, worlds) for name, unit, of in JOINTS]
    rows += [_row(name, unit, of, real, worlds) for name, unit, of in NUMBERS]
    found = tuple(row for row in rows if row is not None)
    return ClosedLoop(found, len(real), sum(r.duration for r in real))


def _settled(recording: Recording) -> Recording | None:
    first = round(SETTLE * recording.rate)
    return recording.clip(first, len(recording)) if len(recording) > 2 * first else None


def _shared_joints(recordings: Sequence[Recording]) -> list[str]:
    """Joints that all of them have: columns are matched by name."""
    found = [j for j in recordings[0].joints if all(j in r.joints for r in recordings)]
    if not found:
        raise DataError("the robot's log and the simulators share no joint; check their names")
    return found


def _columns(of: Quantity, joints: Sequence[str]) -> Quantity:
    """A quantity of joints in one order."""

    def picked(recording: Recording) -> np.ndarray | None:
        values = of(recording)
        return None if values is None else values[:, [recording.column(j) for j in joints]]

    return picked


def _row(
    name: str,
    unit: str,
    of: Quantity,
    real: Sequence[Recording],
    worlds: Mapping[str, Sequence[Recording]],
) -> Likeness | None:
    """A quantity over time, one number a clip, or (T, J): distances then are means over joints."""
    here, there = _stacked(of, real), {world: _stacked(of, own) for world, own in worlds.items()}
    known = {world: values for world, values in there.items() if values is not None}
    if here is None or len(known) < len(there):
        return None
    each = here.ndim == 2
    return Likeness(
        name,
        unit,
        None if each else float(here.mean()),
        {world: None if each else float(values.mean()) for world, values in known.items()},
        {world: _distance(here, values) for world, values in known.items()},
    )


def _stacked(of: Quantity, recordings: Sequence[Recording]) -> np.ndarray | None:
    known = [values for r in recordings if (values := of(r)) is not None]
    return np.concatenate(known) if known else None


def _distance(here: np.ndarray, there: np.ndarray) -> float:
    columns = zip(np.atleast_2d(here.T), np.atleast_2d(there.T), strict=True)
    return float(np.mean([wasserstein_distance(a, b) for a, b in columns]))


def _tilt(recording: Recording) -> np.ndarray | None:
    quat = recording.channels.get("base_quat_wxyz", recording.channels.get("imu_quat_wxyz"))
    return None if quat is None else np.arccos(np.clip(rotate(quat, UP)[:, 2], -1, 1))


def _speed(axis: int) -> Quantity:
    """Mean velocity of a clip in the robot's heading, or its turning."""

    def of(recording: Recording) -> np.ndarray | None:
        quat = recording.channels.get("base_quat_wxyz")
        spin, moved = (recording.channels.get(k) for k in ("base_ang_vel_b", "base_lin_vel_w"))
        if quat is None or (spin if axis == 2 else moved) is None:
            return None
        if axis == 2:
            return rotate(quat, spin)[:, 2].mean(keepdims=True)  # type: ignore[arg-type]
        ahead = rotate(quat, np.array([1.0, 0.0, 0.0]))[:, :2]
        ahead = ahead / np.linalg.norm(ahead, axis=-1, keepdims=True)
        side = ahead if axis == 0 else np.stack([-ahead[:, 1], ahead[:, 0]], axis=-1)
        return (moved[:, :2] * side).sum(axis=-1).mean(keepdims=True)  # type: ignore[index]

    return of


def step_frequency(recording: Recording) -> np.ndarray | None:
    """(1,) strides per second: the strongest rhythm of the joints; None of a robot that stands."""
    q = recording.q - recording.q.mean(axis=0)
    if q.std(axis=0).max() < 0.02:
        return None
    power = (np.abs(np.fft.rfft(q * np.hanning(len(q))[:, None], 4 * len(q), axis=0)) ** 2).sum(1)
    frequency = np.fft.rfftfreq(4 * len(q), 1 / recording.rate)
    inside = (frequency >= STRIDES[0]) & (frequency <= STRIDES[1])
    return frequency[inside][power[inside].argmax()][None] if inside.any() else None


JOINTS: tuple[tuple[str, str, Quantity], ...] = (
    ("joint position", "rad", lambda r: r.q),
    ("joint velocity", "rad/s", lambda r: r.channels.get("dq")),
    ("target", "rad", lambda r: r.target),
    ("torque", "N·m", lambda r: r.channels.get("torque")),
)
"""Compared joint by joint, and averaged."""

NUMBERS: tuple[tuple[str, str, Quantity], ...] = (
    ("tilt", "rad", _tilt),
    ("strides", "Hz", step_frequency),
    ("vx", "m/s", _speed(0)),
    ("vy", "m/s", _speed(1)),
    ("wz", "rad/s", _speed(2)),
)
"""Compared as they are; velocities and strides are one number a clip."""
