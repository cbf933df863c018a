"""Readings that no robot can have had: taken out, counted and told, so that the rest is used."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gapless.recordings.findings import Finding
from gapless.recordings.preparation import clock
from gapless.recordings.preparation.joint_names import Arranged
from gapless.recordings.rawlog import Stream

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

ABSURD = 1e6
"""No reading of a robot is larger, in any unit that we know."""
LEAP, TIMES = 0.5, 10.0
"""A single position is a spike if it is this far (rad) from both of its neighbours, and further
than so many times its speed limit allows."""
AGREE = 0.2
"""Share of that distance within which the neighbours must agree with each other."""


def without_spikes(arranged: Arranged, robot: Robot) -> tuple[Arranged, list[Finding]]:
    """The log with NaN in place of such readings, and one finding a channel."""
    streams, findings = dict(arranged.streams), []
    for name, stream in arranged.streams.items():
        bad = np.abs(stream.values) > ABSURD
        if name == "q":
            bad |= _leaps(stream, robot.joints.velocity)
        if bad.any():
            streams[name] = replace(stream, values=np.where(bad, np.nan, stream.values))
            findings.append(_told(name, bad, stream, robot))
    return replace(arranged, streams=streams), findings


def _leaps(stream: Stream, fastest: np.ndarray) -> np.ndarray:
    """(T, J) positions that leap away and back within one sample."""
    q, bad = stream.values, np.zeros(stream.values.shape, bool)
    if len(q) < 3:
        return bad
    with np.errstate(invalid="ignore", over="ignore"):
        there, back = q[1:-1] - q[:-2], q[1:-1] - q[2:]
        least = np.minimum(np.abs(there), np.abs(back))
        step = clock.interval(np.asarray(stream.time, float))
        allowed = np.maximum(LEAP, TIMES * np.nan_to_num(fastest, nan=np.inf) * step)
        alike = np.abs(q[2:] - q[:-2]) < AGREE * least
        bad[1:-1] = (least > allowed) & (there * back > 0) & alike
    return bad


def _told(name: str, bad: np.ndarray, stream: Stream, robot: Robot) -> Finding:
    row, column = np.argwhere(bad)[0]
    joint = robot.joints.names[column] if bad.shape[1] == len(robot.joints) else None
    where = f"{name} of {joint}" if joint else f"{name}, column {column}"
    text = (
        f"{int(bad.sum())} readings that no robot can have had were masked, the first {where}: "
        f"{stream.values[row, column]:.3g} in row {row}"
    )
    return Finding("warning", "spike", text, joint, int(bad.sum()))
