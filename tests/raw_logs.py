"""Synthetic logs of a small arm, for tests of everything between an importer and a Recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.recordings.rawlog import RawLog, Stream
from gapless.robots import Robot


def commands(robot: Robot, time: np.ndarray, seed: int = 0, size: float = 0.3) -> np.ndarray:
    """(T, J) smooth, non-periodic commands around the middle of each joint's range, rad."""
    rng = np.random.default_rng(seed)
    joints = len(robot.joints.names)
    middle = 0.5 * (robot.joints.lower + robot.joints.upper)
    frequency = rng.uniform(0.2, 1.1, (3, 1, joints))
    phase = rng.uniform(0, 2 * np.pi, (3, 1, joints))
    waves = np.sin(2 * np.pi * frequency * time[None, :, None] + phase)
    return middle + size / 3 * waves.sum(axis=0)


def arm_log(
    robot: Robot,
    seconds: float = 8.0,
    rate: float = 50.0,
    lag: float = 0.04,
    seed: int = 0,
    noise: float = 1e-4,
    **changes: object,
) -> RawLog:
    """A log in seconds and radians; joints follow their commands `lag` seconds late."""
    time = np.arange(int(seconds * rate)) / rate
    target = commands(robot, time, seed)
    q = commands(robot, time - lag, seed)
    q = q + noise * np.random.default_rng(seed + 1).normal(size=q.shape)
    dq = np.gradient(commands(robot, time - lag, seed), 1 / rate, axis=0)
    streams = {"q": Stream(time, q), "target": Stream(time, target), "dq": Stream(time, dq)}
    log = RawLog("wave", tuple(robot.joints.names), streams, "acts_after", "s", source="/logs/wave")
    return replace(log, **changes)


def edited(log: RawLog, **streams: Stream | np.ndarray | None) -> RawLog:
    """The log with some streams replaced: a Stream, new values on the old clock, or None."""
    out = dict(log.streams)
    for name, stream in streams.items():
        if stream is None:
            out.pop(name)
        else:
            given = isinstance(stream, Stream)
            out[name] = stream if given else Stream(log.streams["q"].time, stream)
    return replace(log, streams=out)


def on_clock(log: RawLog, time: np.ndarray) -> RawLog:
    """The log with every stream on another clock of the same length."""
    return replace(log, streams={k: Stream(time, s.values) for k, s in log.streams.items()})


def rows(log: RawLog, index: np.ndarray) -> RawLog:
    """Some rows of a log."""
    streams = {k: Stream(s.time[index], s.values[index]) for k, s in log.streams.items()}
    return replace(log, streams=streams)
