"""What every raw log must be before it leaves its importer, whatever the file said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers.named_arrays import width_of
from gapless.recordings.rawlog import RawLog
from gapless.robots.payload import Payload

MIN_JOINTS, MIN_MOVING = 3, 2
"""One or two joints can push one way throughout; a whole arm that moves to and fro cannot."""
MOVED = 0.02
"""rad; a smaller range is no motion."""
NEAR_ZERO = 0.05
"""Share of the largest torque; a joint that only holds a weight stays above it."""
MAGNITUDE = "torque is a magnitude without sign: left out"


def checked(log: RawLog) -> RawLog:
    """The log, without channels that are not what their name says.

    Raises:
        FormatError: a stream has another shape than its clock and its joints, or the conditions
            hold something that is none.
    """
    for channel, stream in log.streams.items():
        width = width_of(channel, len(log.joints))
        shape, samples = np.shape(stream.values), len(stream.time)
        if shape != (samples, width if width is not None or len(shape) != 2 else shape[1]):
            raise FormatError(
                f"{log.source}: {channel} of {log.name!r} has shape {shape}; "
                f"{(samples, width or 'feet')} was expected"
            )
    check_conditions(log.conditions, f"{log.source}: {log.name!r}")
    if not _is_magnitude(log):
        return log
    streams = {name: stream for name, stream in log.streams.items() if name != "torque"}
    return replace(log, streams=streams, notes=(*log.notes, MAGNITUDE))


def check_conditions(conditions: Conditions, where: str) -> None:
    """Refuse conditions of the wrong type, whichever file they came from."""
    wrong = [
        f"{name} is {str(getattr(conditions, name))[:60]!r}, expected {expected}"
        for name, (fits, expected) in _CONDITIONS.items()
        if not fits(getattr(conditions, name))
    ]
    if wrong:
        raise FormatError(f"{where}: conditions: " + "; ".join(wrong))


def _is_magnitude(log: RawLog) -> bool:
    """No joint ever pushes back, though joints go to and fro and their torques reach zero."""
    torque = log.streams.get("torque")
    if torque is None or np.any(torque.values < 0):
        return False
    largest = np.nanmax(torque.values, axis=0, initial=0.0)
    idle = np.nanmin(torque.values, axis=0, initial=np.inf) <= NEAR_ZERO * largest
    moving = _to_and_fro(log) & idle & (largest > 0)
    return bool(np.sum(largest > 0) >= MIN_JOINTS and np.sum(moving) >= MIN_MOVING)


def _to_and_fro(log: RawLog) -> np.ndarray:
    """(J,) joints whose way up and way down are each at least half of their range."""
    q = log.streams["q"].values * (math.radians(1) if log.angle_unit == "deg" else 1.0)
    low, high = np.nanmin(q, axis=0, initial=np.inf), np.nanmax(q, axis=0, initial=-np.inf)
    steps = np.diff(q, axis=0)
    up, down = np.nansum(steps.clip(0), axis=0), -np.nansum(steps.clip(None, 0), axis=0)
    return (high - low > MOVED) & (np.minimum(up, down) >= 0.5 * (high - low))


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _by_name(value: Any, fits: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(k, str) and fits(v) for k, v in value.items())


def _load(value: Any) -> bool:
    return (
        isinstance(value, Payload)
        and _finite(value.mass)
        and value.mass >= 0
        and (value.com is None or (len(value.com) == 3 and all(_finite(x) for x in value.com)))
    )


def _pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_gain, value))


def _gain(value: Any) -> bool:
    """A number; NaN is the robot's own."""
    return _finite(value) or (isinstance(value, float) and math.isnan(value))


_CONDITIONS = {
    "unit": (_text_or_none, "text"),
    "mount": (_text_or_none, 'text: "free", "fixed" or a link'),
    "payloads": (lambda v: v is None or _by_name(v, _load), "kilograms, 0 or more, by link"),
    "gains": (lambda v: _by_name(v, _pair), "[kp, kd] by joint"),
    "held": (lambda v: _by_name(v, _finite), "a position in rad by joint"),
    "extra": (
        lambda v: _by_name(v, lambda x: isinstance(x, str) or _finite(x)),
        "text or numbers by name",
    ),
}
