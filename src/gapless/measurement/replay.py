"""Replay: a recording's own commands, played in a world from recorded states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.measurement.alignment import Aligned, in_robot_order
from gapless.measurement.base_estimate import BaseQuality
from gapless.measurement.spans import Horizon, samples, spans_of
from gapless.measurement.standing_starts import starts_in
from gapless.measurement.windows import Job, cut
from gapless.recordings.recording import Recording
from gapless.worlds.world import State, Trajectory, World

ENVIRONMENTS = 256
"""Windows simulated at once."""


@dataclass(frozen=True)
class Replay:
    """All windows of one recording over one horizon; arrays are (W, T+1, ...), joints the robot's.

    Attributes:
        recording: what was replayed.
        horizon: seconds, or "full".
        starts: (W,) first sample of each window.
        steps: (W,) its length; windows shorter than the arrays are padded.
        real: recorded states of the windows.
        sim: simulated states, sample 0 equal to the recorded one.
        target: (W, T, J) the commands, rad, velocity commands and feed-forward folded in.
        torque: (W, T+1, J) logged torque, N·m, or None.
        usable: (W, T+1, J) True where both sides may be compared: recorded, not masked, not
            diverged, not padding.
        lost: (W, T+1, J) True where they could be, had the simulation not diverged.
        diverged: (W,) windows whose simulation diverged.
        base: how the recorded base was had: "logged", "estimated" (from the feet) or "none".
        quality: how good an estimated base is; None where it was not estimated.
    """

    recording: Recording
    horizon: Horizon
    rate: float
    starts: np.ndarray
    steps: np.ndarray
    real: State
    sim: Trajectory
    target: np.ndarray
    torque: np.ndarray | None
    usable: np.ndarray
    lost: np.ndarray
    diverged: np.ndarray
    base: str
    quality: BaseQuality | None = None

    @property
    def error(self) -> np.ndarray:
        """(W, T+1, J) simulated minus real position, rad; NaN where it may not be used."""
        return np.where(self.usable, self.sim.q - self.real.q, np.nan)

    def dump_divergence(self, path: Path, joints: Sequence[str], last: int = 50) -> None:
        """Write the last valid states of the first diverged window as plain named arrays (NPZ)."""
        window = int(self.diverged.argmax())
        end = int(self.sim.valid[window].argmin())
        span = slice(max(0, end - last), end)
        arrays: dict[str, Any] = self.sim[window, span].fields
        arrays["target"] = self.target[window, span]
        arrays["time"] = (self.starts[window] + np.arange(span.start, span.stop)) / self.rate
        np.savez(path, joints=np.array(joints), motion=np.array(self.recording.name), **arrays)


def replay(
    recordings: Sequence[Recording],
    world: World,
    horizon: Horizon,
    limit: int | None = None,
) -> list[Replay]:
    """Replay recordings in a world, all their windows in common batches.

    Args:
        recordings: of the world's robot and rate, with commands.
        world: where they are played.
        horizon: seconds, or "full".
        limit: at most this many windows of each recording.

    Returns:
        One Replay a recording that has at least one window, in order.
    """
    aligned = [in_robot_order(r, world.robot) for r in recordings]
    for recording in recordings:
        _require(recording, world)
    spans = [spans_of(a.valid, world.rate, horizon, limit) for a in aligned]
    jobs = [(i, a, b) for i, found in enumerate(spans) for a, b in found]
    # Windows of like length share a batch, so that little of it is padding.
    order = sorted(range(len(jobs)), key=lambda k: jobs[k][2] - jobs[k][1])
    results: list[_Played | None] = [None] * len(jobs)
    for first in range(0, len(order), ENVIRONMENTS):
        chosen = order[first : first + ENVIRONMENTS]
        played = _play([jobs[k] for k in chosen], aligned, world)
        for k, one in zip(chosen, played, strict=True):
            results[k] = one
    out, at = [], 0
    for i, found in enumerate(spans):
        if len(found):
            mine = [p for p in results[at : at + len(found)] if p is not None]
            out.append(_stack(recordings[i], aligned[i], horizon, found, mine))
        at += len(found)
    return out


def _require(recording: Recording, world: World) -> None:
    if recording.target is None:
        raise DataError(
            f"recording {recording.name!r} has no commands, so there is nothing to replay; "
            "to play its positions as commands (a reference motion), use "
            "--reference-as-command or recording.with_reference_as_command()"
        )
    if not np.isclose(recording.rate, world.rate):
        raise DataError(
            f"recording {recording.name!r} has {recording.rate:g} Hz, the world {world.rate:g} Hz; "
            "use world.at_rate(dataset.rate)"
        )


@dataclass(frozen=True)
class _Played:
    sim: Trajectory
    steps: int


def _play(jobs: list[Job], aligned: list[Aligned], world: World) -> list[_Played]:
    """Simulate windows together, each padded to the longest by holding its last target."""
    windows = cut(jobs, aligned, world.history_steps, world.rate)
    start = starts_in(world, windows)
    sim = world.rollout(start, windows.held, history=windows.history, conditions=windows.conditions)
    lengths = [int(b - a) for _, a, b in jobs]
    return [_Played(sim[n, : steps + 1], steps) for n, steps in enumerate(lengths)]


def _stack(
    recording: Recording,
    aligned: Aligned,
    horizon: Horizon,
    found: np.ndarray,
    played: list[_Played],
) -> Replay:
    """Put the windows of one recording into common arrays, padded and marked unusable."""
    steps = max(p.steps for p in played)
    index = samples(found, 0, steps + 1)
    inside = found[:, :1] + np.arange(steps + 1) <= found[:, 1:]
    trajectory = Trajectory.stack([p.sim.map(lambda v: _padded(v, steps + 1)) for p in played])
    recorded = aligned.mask[index] & inside[..., None]
    valid = trajectory.valid[..., None]
    return Replay(
        recording=recording,
        horizon=horizon,
        rate=recording.rate,
        starts=found[:, 0],
        steps=found[:, 1] - found[:, 0],
        real=aligned.state[index],
        sim=trajectory,
        target=aligned.target[index[:, :-1]],
        torque=None if aligned.torque is None else aligned.torque[index],
        usable=recorded & valid,
        lost=recorded & ~valid,
        diverged=~np.asarray(trajectory.valid.all(axis=1)),
        base=aligned.base,
        quality=None if aligned.estimate is None else aligned.estimate.quality,
    )


def _padded(array: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([array, np.repeat(array[-1:], length - len(array), axis=0)])
