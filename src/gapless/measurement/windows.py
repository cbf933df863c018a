"""Windows: stretches of recordings that are replayed from recorded states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from gapless.errors import DataError
from gapless.measurement.alignment import Aligned, Commands, in_robot_order
from gapless.measurement.base_from_feet import base_from_feet
from gapless.measurement.spans import Horizon, samples, spans_of, spread
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Robot
from gapless.worlds.world import State

SMOOTHING_SECONDS = 0.1
"""Length of the cubic that is laid through the encoder readings around a start."""

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, without their whole part, fall evenly between 0 and 1 however many there are."""

LONGEST_DELAY = 0.2
"""Seconds of commands kept from before a window that is fitted."""


Job = tuple[int, int, int]
"""Which recording, and the first and last sample of a span of it."""


@dataclass(frozen=True)
class Windows:
    """n stretches of recordings; arrays are (n, ...), joints in the robot's order.

    Windows shorter than the arrays are padded by holding their last sample, which weighs nothing.

    Attributes:
        start: states at the first sample.
        commands: (n, H + T, J) what was commanded, the H before the start and the T after it.
        targets: (n, H + T, J) the same folded into positions, by the gains in force, rad.
        before: H.
        real: recorded states, (n, T, ...), each the result of a command.
        weight: (n, T, J) 1 where a reading may be compared, 0 elsewhere.
        base_weight: (n,) 1 where the base was logged, 0 where it is an estimate or there is none.
        from_feet: (n,) True where the base was estimated from the feet alone.
        conditions: payload and gains of each.
        recording: (n,) which recording each is of.
        names: of the recordings.
        rate: samples a second.
    """

    start: State
    commands: Commands
    targets: np.ndarray
    before: int
    real: State
    weight: np.ndarray
    base_weight: np.ndarray
    from_feet: np.ndarray
    conditions: tuple[Conditions, ...]
    recording: np.ndarray
    names: tuple[str, ...]
    rate: float

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def steps(self) -> int:
        """T."""
        return self.weight.shape[1]

    @property
    def seconds(self) -> float:
        """Of all windows together."""
        return len(self) * self.steps / self.rate

    @property
    def estimated(self) -> np.ndarray:
        """(n,) True where there is a base, which was not logged."""
        return (self.base_weight == 0) & (self.start.base_pos is not None)

    @property
    def history(self) -> np.ndarray:
        """(n, H, J) targets before the start: a delay still brings them into force."""
        return self.targets[:, : self.before]

    @property
    def held(self) -> np.ndarray:
        """(n, T, J) targets from the start on."""
        return self.targets[:, self.before :]

    @property
    def states(self) -> State:
        """(n, T+1, ...) recorded states, the start included."""
        return State.concatenate([self.start[:, None], self.real], axis=1)

    def __getitem__(self, which: np.ndarray) -> Windows:
        """Some of the windows."""
        chosen = np.arange(len(self))[which]
        return replace(
            self,
            start=self.start[chosen],
            commands=self.commands[chosen],
            targets=self.targets[chosen],
            real=self.real[chosen],
            weight=self.weight[chosen],
            base_weight=self.base_weight[chosen],
            from_feet=self.from_feet[chosen],
            conditions=tuple(self.conditions[i] for i in chosen),
            recording=self.recording[chosen],
        )

    def shortened(self, steps: int) -> Windows:
        """The first so many control steps of each."""
        return replace(
            self,
            commands=self.commands[:, : self.before + steps],
            targets=self.targets[:, : self.before + steps],
            real=self.real[:, :steps],
            weight=self.weight[:, :steps],
        )

    def unloaded(self) -> Windows:
        """The same without the loads the recordings state: a fit is to find them."""
        bare = tuple(replace(c, payloads=None) for c in self.conditions)
        return replace(self, conditions=bare)


def windows_of(
    recordings: Recordings,
    robot: Robot,
    horizon: Horizon = 1.0,
    limit: int = 256,
    smooth: bool = True,
    also: Sequence[tuple[int, int]] = (),
) -> Windows:
    """Cut recordings into windows of one length.

    Args:
        recordings: of this robot, with commands, at one rate.
        robot: whose joint order is used.
        horizon: seconds of each; recordings shorter than that give none.
        limit: most windows kept, spread evenly over the recordings.
        smooth: start from a local cubic through the positions, rather than from one noisy
            reading and a velocity differenced from two.
        also: recording and first sample of windows that are cut beside these; they come last, and
            what is masked or too near the end is left out.
    """
    clips = [recordings[i] for i in range(len(recordings))]
    if limit < 1:
        raise DataError(f"windows is {limit}; expected 1 or more")
    if not clips:
        raise DataError("there is no recording to fit; expected a dataset with at least one")
    _require(clips, robot)
    aligned = [in_robot_order(clip, robot) for clip in clips]
    starts = [
        smooth_starts(clip, a, robot) if smooth else a.state
        for clip, a in zip(clips, aligned, strict=True)
    ]
    rate = clips[0].rate
    length = _length(horizon, rate, aligned)
    jobs = _spread_jobs([spans_of(a.valid, rate, length / rate) for a in aligned], limit)
    jobs += [(i, a, a + length) for i, a in also if aligned[i].valid[a : a + length + 1].all()]
    jobs = [(i, a, b) for i, a, b in jobs if b < len(aligned[i].valid)]
    if not jobs:
        raise DataError(
            f"no recording has an unbroken stretch of {length / rate:g} s; use a shorter --horizon"
        )
    before = max(1, int(np.ceil(LONGEST_DELAY * rate)))
    return cut(jobs, aligned, before, rate, tuple(c.name for c in clips), starts)


def _spread_jobs(spans: Sequence[np.ndarray], limit: int) -> list[Job]:
    """So many of the recordings' spans, as many of each, and of each at other moments of it."""
    counts = np.array([len(found) for found in spans])
    shares = range(1, int(counts.max(initial=0)) + 1)
    share = next(
        (s for s in shares if np.minimum(counts, s).sum() >= limit), max(shares, default=1)
    )
    kept = [spread(found, share, GOLDEN * (i + 1) % 1) for i, found in enumerate(spans)]
    jobs = np.array([(i, *span) for i, found in enumerate(kept) for span in found.tolist()], int)
    return [(int(i), int(a), int(b)) for i, a, b in spread(jobs.reshape(-1, 3), limit)]


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
    """Control steps of a window; "full" is the length of the shortest recording."""
    if isinstance(horizon, str):
        return min(len(a.valid) for a in aligned) - 1
    if not 0 < float(horizon) < np.inf:
        raise DataError(f"horizon is {horizon} s; expected a number above 0")
    return max(1, round(float(horizon) * rate))


def smooth_starts(clip: Recording, aligned: Aligned, robot: Robot) -> State:
    """The states a replay may start from: a cubic laid through the readings around each.

    A base that is estimated from the joints is estimated from these.
    """
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
    q = np.where(clear, q, aligned.state.q)
    dq = logged if "dq" in clip.channels else np.where(clear, dq, logged)
    estimated = aligned.estimate is not None
    base = base_from_feet(clip, robot, q, dq).state if estimated else {}
    return replace(aligned.state, q=q, dq=dq, **base)


def cut(
    jobs: Sequence[Job],
    aligned: Sequence[Aligned],
    before: int,
    rate: float,
    names: tuple[str, ...] = (),
    starts: Sequence[State] | None = None,
) -> Windows:
    """Windows of the spans of recordings, each padded to the longest.

    Args:
        jobs: the spans.
        aligned: the recordings.
        before: commands kept from before each start.
        rate: samples a second.
        names: of the recordings.
        starts: (T, ...) states of each recording to start from; those that were read by default.
    """
    which, spans = [i for i, _, _ in jobs], np.array([(a, b) for _, a, b in jobs])
    longest = int((spans[:, 1] - spans[:, 0]).max())
    # The last sample of a span has no command: it is the result of the one before.
    asked, after = samples(spans - [0, 1], -before, longest), samples(spans, 1, longest + 1)
    inside = spans[:, :1] + np.arange(1, longest + 1) <= spans[:, 1:]
    begun = [a.state for a in aligned] if starts is None else starts
    weight = np.stack([aligned[i].mask[k] for i, k in zip(which, after, strict=True)])
    return Windows(
        start=State.stack([begun[i][a] for i, a, _ in jobs]),
        commands=Commands.stack(
            [aligned[i].commands[k] for i, k in zip(which, asked, strict=True)]
        ),
        targets=np.stack([aligned[i].target[k] for i, k in zip(which, asked, strict=True)]),
        before=before,
        real=State.stack([aligned[i].state[k] for i, k in zip(which, after, strict=True)]),
        weight=(weight & inside[..., None]).astype(float),
        base_weight=np.array([float(aligned[i].base == "logged") for i in which]),
        from_feet=np.array([aligned[i].from_feet for i in which]),
        conditions=tuple(aligned[i].conditions for i in which),
        recording=np.array(which),
        names=names,
        rate=rate,
    )
