"""From arranged streams to uniform frames: cut into episodes, resampled, masked, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from gapless.errors import DataError
from gapless.recordings.findings import Finding
from gapless.recordings.preparation import clock, resample
from gapless.recordings.preparation.placement import COMMANDS, move_commands
from gapless.recordings.rawlog import Stream
from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS

MIN_FRAMES = 10
"""Shorter episodes are dropped, and counted."""
HELD = (*COMMANDS, "temperature", "contact")
GAP_SAMPLES = 3.5
"""Sampling intervals that are bridged by default: three, and half of one for jitter."""


@dataclass
class EpisodeFrames:
    """One episode on its grid.

    Attributes:
        values: channel -> (N, k), NaN where there is nothing.
        mask: (N, J) samples with a position and, where commands are logged, a command.
        masked: reason -> samples.
        interpolated: usable frames where samples are missing that were bridged.
    """

    values: dict[str, np.ndarray]
    mask: np.ndarray
    masked: Counter[str] = field(default_factory=Counter)
    interpolated: int = 0


def cut(streams: dict[str, Stream], moved: int) -> tuple[list[dict[str, Stream]], list[Finding]]:
    """Split streams (times in seconds) into episodes with strictly increasing clocks.

    Args:
        streams: as logged, in the robot's joints.
        moved: rows by which commands move earlier, once their rows are in order.

    Raises:
        DataError: the clocks of two streams reset a different number of times.
    """
    order = clock.once_a_clock(clock.order)
    ordered = {name: order(stream.time) for name, stream in streams.items()}
    groups = len(ordered["q"].groups)
    odd = [name for name, o in ordered.items() if len(o.groups) != groups]
    if odd:
        raise DataError(
            f"the clock of q restarts {groups - 1} times, but that of {', '.join(odd)} does not: "
            "the streams cannot be placed on one clock; split the log at its restarts"
        )
    if all(o.untouched for o in ordered.values()):
        parts = [streams]
    else:
        parts = [
            {name: _take(streams[name], o.groups[k]) for name, o in ordered.items()}
            for k in range(groups)
        ]
    # Rows that are late, doubled or from before a restart are no neighbours of those beside them.
    parts = [move_commands(part, moved) for part in parts]
    episodes = [episode for part in parts for episode in _at_gaps(part)]
    return episodes, _clock_findings(ordered["q"], len(episodes))


def _at_gaps(part: dict[str, Stream]) -> list[dict[str, Stream]]:
    time = part["q"].time
    rows = clock.split_gaps(np.arange(len(time)), time)
    return [part] if len(rows) == 1 else [{**part, "q": _take(part["q"], r)} for r in rows]


def _take(stream: Stream, rows: np.ndarray) -> Stream:
    return Stream(stream.time[rows], stream.values[rows])


def _clock_findings(order: clock.Ordered, episodes: int) -> list[Finding]:
    findings = []
    if order.duplicates:
        text = f"{order.duplicates} rows repeat a time stamp (or have none) and were dropped"
        findings.append(Finding("warning", "duplicate_times", text, count=order.duplicates))
    if order.late:
        text = f"{order.late} rows arrived out of order and were sorted back"
        findings.append(Finding("warning", "sorted_times", text, count=order.late))
    if episodes > 1:
        resets = len(order.groups) - 1
        text = (
            f"split into {episodes} episodes: the clock restarts {resets} times and stops for "
            f"more than {clock.SPLIT_GAP} s {episodes - 1 - resets} times"
        )
        findings.append(Finding("warning", "split", text, count=episodes))
    return findings


def frames(
    episode: dict[str, Stream], rate: float, max_gap: float | None, logged: np.ndarray
) -> EpisodeFrames | None:
    """Resample one episode; None where fewer than MIN_FRAMES frames are usable."""
    at = _grid(episode, rate)
    if len(at) < MIN_FRAMES:
        return None
    known = {"q", "target", *JOINT_CHANNELS, *BODY_CHANNELS}
    clocks = clock.once_a_clock(lambda time: resample.Resampler(time, at, _gap(time, max_gap)))
    values = {
        name: _resampled(name, stream.values, clocks(stream.time))
        for name, stream in episode.items()
        if name in known and len(stream.time) > 1
    }
    mask, masked = _masks(values, clocks(episode["q"].time).inside, logged)
    used = np.flatnonzero(mask.any(axis=1))
    if len(used) < MIN_FRAMES:
        return None
    keep = slice(int(used[0]), int(used[-1]) + 1)
    counts = Counter({why: int(bad[keep].sum()) for why, bad in masked.items() if bad[keep].any()})
    bridged = np.any([clocks(episode[name].time).bridged for name in values], axis=0)
    interpolated = int((bridged & mask.any(axis=1)).sum())
    return EpisodeFrames({k: v[keep] for k, v in values.items()}, mask[keep], counts, interpolated)


def _grid(episode: dict[str, Stream], rate: float) -> np.ndarray:
    """From the first state on; commands that start later are masked and trimmed."""
    time = episode["q"].time
    return resample.grid(float(time[0]), float(time[-1]), rate) if len(time) > 1 else time


def _gap(time: np.ndarray, max_gap: float | None) -> float:
    return GAP_SAMPLES * clock.interval(time) if max_gap is None else max_gap


def _resampled(name: str, values: np.ndarray, resampler: resample.Resampler) -> np.ndarray:
    if name in HELD:
        return resampler.held(values)
    if name.endswith("_wxyz"):
        return resampler.rotations(values)
    return resampler.linear(values)


def _masks(
    values: dict[str, np.ndarray], inside: np.ndarray, logged: np.ndarray
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Usable samples, and the unusable ones of logged joints by reason (each counted once)."""
    gap = ~inside[:, None] & logged
    missing = ~np.isfinite(values["q"]) & logged & ~gap
    no_command = np.zeros_like(gap)
    if "target" in values:
        no_command = ~np.isfinite(values["target"]) & logged & ~gap & ~missing
    reasons = {"gap": gap, "not_a_number": missing, "no_command": no_command}
    return logged & ~gap & ~missing & ~no_command, reasons
