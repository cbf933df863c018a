"""measure(): replay a dataset in a world and score it, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gapless.artifact import file_name
from gapless.errors import DataError
from gapless.measurement.attribution import Attribution, attribute
from gapless.measurement.base_estimate import BaseQuality, describe
from gapless.measurement.gap import Gap
from gapless.measurement.replay import ENVIRONMENTS, Replay, replay
from gapless.measurement.score import ClipGap, score
from gapless.measurement.spans import FULL, Horizon
from gapless.progress import ProgressReporter, Watch
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Kinematics
from gapless.worlds.engine_world import EngineWorld
from gapless.worlds.world import World

HORIZONS: tuple[Horizon, ...] = (0.25, 0.5, 1.0, FULL)
GROUP_FRAMES = 60_000
"""Frames held at once; a dataset larger than memory is read in such groups."""


def measure(
    dataset: Recordings,
    world: World,
    *,
    horizons: Sequence[Horizon] = HORIZONS,
    threshold: float = 0.5,
    windows: int | None = None,
    attribution: bool = False,
    include_flagged: bool = False,
    dump: Path | None = None,
    watch: Watch | None = None,
) -> Gap:
    """Measure how far a world is from recordings.

    Args:
        dataset: recordings of the world's robot; their rate decides the world's.
        world: the simulator that is judged.
        horizons: seconds replayed from recorded states, or "full".
        threshold: |Δq| that counts as a large gap, rad.
        windows: at most this many windows of each recording and horizon; None takes all.
        attribution: also attribute the error to causes (a MujocoWorld or PhysxWorld only).
        include_flagged: also measure recordings that the import flagged as unfit.
        dump: folder for the last states before each divergence, as NPZ files.
        watch: told how many recordings are done.
    """
    skipped = _Skipped()
    recordings = dataset if include_flagged else _unflagged(dataset, skipped)
    if not len(recordings):
        raise DataError(
            "there is no recording to measure" + "".join(f"; {s}" for s in skipped.lines())
        )
    if windows is not None and windows < 1:
        raise DataError(f"windows is {windows}; expected 1 or more, or none for all")
    world = world.at_rate(_rate(dataset))
    clips = _clips(
        recordings,
        world,
        tuple(dict.fromkeys(horizons)),
        threshold,
        windows,
        dump,
        skipped,
        ProgressReporter(watch, "replaying", len(recordings)),
    )
    if not clips:
        raise DataError("nothing could be replayed: " + "; ".join(skipped.lines()))
    causes = _causes(recordings, world, skipped) if attribution else None
    return Gap(
        identity=world.identity,
        joints=world.robot.joints.names,
        end_effectors=tuple(p.name for p in world.robot.end_effectors),
        clips=tuple(clips),
        skipped=tuple(skipped.lines()),
        attribution=causes,
    )


def _clips(
    recordings: Recordings,
    world: World,
    horizons: tuple[Horizon, ...],
    threshold: float,
    windows: int | None,
    dump: Path | None,
    skipped: _Skipped,
    reporter: ProgressReporter,
) -> list[ClipGap]:
    """Replay and score every recording over every horizon, group by group."""
    kinematics = Kinematics.of(world.robot)
    clips: list[ClipGap] = []
    done = 0
    reporter.tell(done)
    for group in _groups(recordings):
        for horizon in horizons:
            found = replay(group, world, horizon, windows)
            skipped.note(group, found, horizon)
            if dump is not None:
                _dump(found, dump, world)
            clips += score(found, world.robot, kinematics, threshold)
        done += len(group)
        reporter.tell(done)
    order = {h: i for i, h in enumerate(horizons)}
    return sorted(clips, key=lambda c: order[c.horizon])


def _causes(recordings: Recordings, world: World, skipped: _Skipped) -> Attribution | None:
    if not isinstance(world, EngineWorld):
        skipped.add("likely causes (only a MujocoWorld or PhysxWorld can be changed)", "")
        return None
    try:
        return attribute(recordings, world)
    except DataError as error:
        skipped.add(f"likely causes ({error})", "")
        return None


class _View:
    """Some recordings of a dataset, read when asked for."""

    def __init__(self, recordings: Recordings, chosen: list[int]) -> None:
        self._recordings, self._chosen = recordings, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, i: int, /) -> Recording:
        return self._recordings[self._chosen[i]]

    def __iter__(self) -> Iterator[Recording]:
        return (self._recordings[i] for i in self._chosen)


def _unflagged(recordings: Recordings, skipped: _Skipped) -> Recordings:
    """Leave out what the import flagged as unfit; a Dataset knows it without reading samples."""
    facts = getattr(recordings, "episodes", None)
    facts = [recordings[i] for i in range(len(recordings))] if facts is None else facts
    for fact in (f for f in facts if f.flags):
        skipped.add("flagged as unfit (--include-flagged measures them too)", fact.name)
    return _View(recordings, [i for i, f in enumerate(facts) if not f.flags])


def _rate(dataset: Recordings) -> float:
    rate = getattr(dataset, "rate", None)
    return float(rate if rate is not None else dataset[0].rate)


def _groups(recordings: Recordings) -> Iterator[list[Recording]]:
    """Recordings that fill a batch of environments together without filling the memory."""
    group: list[Recording] = []
    frames = 0
    for i in range(len(recordings)):
        group.append(recordings[i])
        frames += len(group[-1])
        if frames >= GROUP_FRAMES or len(group) >= ENVIRONMENTS:
            yield group
            group, frames = [], 0
    if group:
        yield group


def _dump(found: list[Replay], folder: Path, world: World) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for played in (r for r in found if r.diverged.any()):
        name = f"{file_name(played.recording.name)}_{played.horizon}.npz"
        played.dump_divergence(folder / name, world.robot.joints.names)


class _Skipped:
    """What could not be computed, said once for all recordings it is true of."""

    def __init__(self) -> None:
        self._recordings: dict[str, list[str]] = {}
        self._bases: dict[tuple[str, float], BaseQuality] = {}

    def note(self, group: list[Recording], found: list[Replay], horizon: Horizon) -> None:
        replayed = {id(r.recording) for r in found}
        for played in found:
            if played.diverged.any():
                self.add(
                    "the rest of windows that diverged (a smaller --physics-step or more armature "
                    "may help; --dump FOLDER keeps the last states)",
                    played.recording.name,
                )
            if played.quality is not None:
                # Seen once a horizon; recordings of one motion share their name.
                one = (played.recording.name, float(np.nansum(played.recording.q)))
                self._bases[one] = played.quality
        for recording in group:
            if id(recording) not in replayed:
                length = "two frames" if horizon == FULL else f"{horizon:g} s"
                self.add(f"no unbroken stretch of {length}", recording.name)
            if "torque" not in recording.channels:
                self.add("torque error (no torque was logged)", recording.name)

    def add(self, what: str, name: str) -> None:
        """Note what is not computed, and for which recording ("" is all)."""
        names = self._recordings.setdefault(what, [])
        if name and name not in names:
            names.append(name)

    def lines(self) -> list[str]:
        """One line for each thing noted."""
        lines = [
            f"{what}: {len(names)} recordings, e.g. {names[0]}" if names else what
            for what, names in self._recordings.items()
        ]
        if self._bases:
            told = describe(list(self._bases.values()))
            lines.append(f"errors in the world frame (the log has no base pose): {told}")
        return lines
