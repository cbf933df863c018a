"""Fragments: stretches of recordings, replayed from recorded states while a model is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from gapless.errors import DataError
from gapless.measurement.alignment import Aligned, Commands, in_robot_order
from gapless.measurement.replay import Horizon, windows
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.worlds.world import State

SMOOTHING_SECONDS = 0.1
"""Length of the cubic that is laid through the encoder readings around a start."""

LONGEST_DELAY = 0.2
"""Seconds of commands kept from before a fragment."""


@dataclass(frozen=True)
class Fragments:
    """n stretches of one length; arrays are (n, ...), joints in the robot's order.

    Attributes:
        start: states at the first sample.
        commands: (n, H + T, J) the H commands before the start and the T after it.
        before: H.
        real: recorded states, (n, T, ...), each the result of a command.
        weight: (n, T, J) 1 where a reading may be compared, 0 elsewhere.
        base_weight: (n,) 1 where the base was logged, 0 where it is an estimate or there is none.
        conditions: payload and gains of each.
        recording: (n,) which recording each is of.
        names: of the recordings.
        rate: samples a second.
    """

    start: State
    commands: Commands
    before: int
    real: State
    weight: np.ndarray
    base_weight: np.ndarray
    conditions: tuple[Conditions, ...]
    recording: np.ndarray
    names: tuple[str, ...]
    rate: float

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def steps(self) -> int:
        """Control steps of each."""
        return self.weight.shape[1]

    @property
    def seconds(self) -> float:
        """Of all fragments together."""
        return len(self) * self.steps / self.rate

    def __getitem__(self, which: np.ndarray) -> Fragments:
        """Some of the fragments."""
        chosen = np.arange(len(self))[which]
        return replace(
            self,
            start=self.start[chosen],
            commands=self.commands[chosen],
            real=self.real[chosen],
            weight=self.weight[chosen],
            base_weight=self.base_weight[chosen],
            conditions=tuple(self.conditions[i] for i in chosen),
            recording=self.recording[chosen],
        )

    def unloaded(self) -> Fragments:
        """The same without the loads the recordings state: a fit is to find them."""
        bare = tuple(replace(c, payloads=None) for c in self.conditions)
        return replace(self, conditions=bare)


def fragments_of(
    recordings: Recordings,
    robot: Robot,
    horizon: Horizon = 1.0,
    limit: int = 256,
    smooth: bool = True,
) -> Fragments:
    """Cut recordings into fragments.

    Args:
        recordings: of this robot, with commands, at one rate.
        robot: whose joint order is used.
        horizon: seconds of each; recordings shorter than that give none.
        limit: most fragments kept, spread evenly over the recordings.
        smooth: start from a local cubic through the positions, rather than from one noisy
            reading and a velocity differenced from two.
    """
    clips = [recordings[i] for i in range(len(recordings))]
    if limit < 1:
        raise DataError(f"fragments is {limit}; expected 1 or more")
    if not clips:
        raise DataError("there is no recording to fit; expected a dataset with at least one")
    _require(clips, robot)
    aligned = [in_robot_order(clip, robot) for clip in clips]
    starts = [
        _starts(clip, a) if smooth else a.state for clip, a in zip(clips, aligned, strict=True)
    ]
    rate = clips[0].rate
    length = _length(horizon, rate, aligned)
    share = max(1, limit // len(clips))
    spans = [windows(a.valid, rate, length / rate, share) for a in aligned]
    jobs = [(i, int(first)) for i, found in enumerate(spans) for first, _ in found]
    if len(jobs) > limit:
        jobs = [jobs[k] for k in np.linspace(0, len(jobs) - 1, limit).round().astype(int)]
    if not jobs:
        raise DataError(
            f"no recording has an unbroken stretch of {length / rate:g} s; use a shorter --horizon"
        )
    found = _cut(jobs, aligned, tuple(c.name for c in clips), rate, length)
    return replace(found, start=State.stack([starts[i][at] for i, at in jobs]))


def _require(clips: Sequence[Recording], robot: Robot) -> None:
    for clip in clips:
        if clip.target is None:
            raise DataError(
                f"recording {clip.name!r} has no commands, so there is nothing to replay and fit"
            )
        if not np.isclose(clip.rate, clips[0].rate):
            raise DataError(
                f"recordings have different rates ({clip.rate:g} and {clips[0].rate:g} Hz); "
                "import them with one --rate"
            )
        strangers = [
            j for j in clip.joints if j not in robot.joints.names and j not in robot.locked
        ]
        if len(strangers) == len(clip.joints):
            raise DataError(
                f"recording {clip.name!r} is of another robot: {robot.name!r} has none of its "
                f"joints ({', '.join(strangers[:3])}, ...); pass the right --robot"
            )


def _length(horizon: Horizon, rate: float, aligned: list[Aligned]) -> int:
    """Control steps of a fragment; "full" is the length of the shortest recording."""
    if isinstance(horizon, str):
        return min(len(a.valid) for a in aligned) - 1
    if not 0 < float(horizon) < np.inf:
        raise DataError(f"horizon is {horizon} s; expected a number above 0")
    return max(1, round(float(horizon) * rate))


def _starts(clip: Recording, aligned: Aligned) -> State:
    """The states a replay may start from: a cubic laid through the readings around each."""
    width = round(SMOOTHING_SECONDS * clip.rate) // 2 * 2 + 1
    width = max(width, 5)
    if len(clip) <= width:
        return aligned.state
    read, step = aligned.state.q, 1 / clip.rate
    q = np.asarray(savgol_filter(read, width, 3, axis=0))
    dq = np.asarray(savgol_filter(read, width, 3, deriv=1, delta=step, axis=0))
    # A filler around a gap must not leak into a start.
    clear = minimum_filter1d(aligned.mask.astype(int), width, axis=0).astype(bool)
    logged = aligned.state.dq
    return replace(
        aligned.state,
        q=np.where(clear, q, aligned.state.q),
        dq=logged if "dq" in clip.channels else np.where(clear, dq, logged),
    )


def _cut(
    jobs: list[tuple[int, int]],
    aligned: list[Aligned],
    names: tuple[str, ...],
    rate: float,
    length: int,
) -> Fragments:
    before = max(1, int(np.ceil(LONGEST_DELAY * rate)))
    around = np.arange(-before, length)
    after = np.arange(1, length + 1)
    asked = [aligned[i].commands[np.clip(at + around, 0, None)] for i, at in jobs]
    return Fragments(
        start=State.stack([aligned[i].state[at] for i, at in jobs]),
        commands=_stack_commands(asked),
        before=before,
        real=State.stack([aligned[i].state[at + after] for i, at in jobs]),
        weight=np.stack([aligned[i].mask[at + after].astype(float) for i, at in jobs]),
        base_weight=np.array([float(aligned[i].base == "logged") for i, _ in jobs]),
        conditions=tuple(aligned[i].conditions for i, _ in jobs),
        recording=np.array([i for i, _ in jobs]),
        names=names,
        rate=rate,
    )


def _stack_commands(parts: list[Commands]) -> Commands:
    columns = []
    for name in ("target", "target_dq", "torque_ff"):
        found = [getattr(p, name) for p in parts]
        filler = np.zeros_like(parts[0].target)
        absent = all(f is None for f in found)
        columns.append(None if absent else np.stack([filler if f is None else f for f in found]))
    return Commands(*columns)
