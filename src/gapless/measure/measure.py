"""measure(): replay a dataset in a world and score it, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gapless.artifact import file_name
from gapless.errors import DataError
from gapless.measure.attribution import attribute
from gapless.measure.gap import Gap
from gapless.measure.replay import COPIES, FULL, Horizon, Replay, replay
from gapless.measure.score import ClipGap, score
from gapless.recordings.recording import Recording, Recordings
from gapless.robots import Kinematics
from gapless.worlds.mujoco import MujocoWorld
from gapless.worlds.world import World

HORIZONS: tuple[Horizon, ...] = (0.25, 0.5, 1.0, FULL)
GROUP_FRAMES = 60_000
"""Frames held at once; a dataset larger than memory is read in such groups."""

Progress = Callable[[int, int], None]
"""Called with recordings done and recordings in all."""


def measure(
    dataset: Recordings,
    world: World,
    *,
    horizons: Sequence[Horizon] = HORIZONS,
    threshold: float = 0.5,
    windows: int | None = None,
    attribution: bool = False,
    dump: Path | None = None,
    progress: Progress | None = None,
) -> Gap:
    """Measure how far a world is from recordings.

    Args:
        dataset: recordings of the world's robot; their rate decides the world's.
        world: the simulator that is judged.
        horizons: seconds replayed from recorded states, or "full".
        threshold: |Δq| that counts as a large gap, rad.
        windows: at most this many windows of each recording and horizon; None takes all.
        attribution: also attribute the error to causes (a MujocoWorld only).
        dump: folder for the last states before each divergence, as NPZ files.
        progress: told how many recordings are done.
    """
    if not len(dataset):
        raise DataError("there is no recording to measure")
    world = world.at_rate(_rate(dataset))
    kinematics = Kinematics.of(world.robot)
    clips: list[ClipGap] = []
    skipped = _Skipped()
    done = 0
    for group in _groups(dataset):
        for horizon in horizons:
            found = replay(group, world, horizon, windows)
            skipped.note(group, found, horizon)
            if dump is not None:
                _dump(found, dump, world)
            clips += [score(r, world.robot, kinematics, threshold) for r in found]
        done += len(group)
        if progress:
            progress(done, len(dataset))
    if not clips:
        raise DataError("nothing could be replayed: " + "; ".join(skipped.lines()))
    causes = attribute(dataset, world) if attribution and isinstance(world, MujocoWorld) else None
    order = {h: i for i, h in enumerate(horizons)}
    return Gap(
        identity=world.identity,
        joints=world.robot.joints.names,
        end_effectors=tuple(p.name for p in world.robot.end_effectors),
        clips=tuple(sorted(clips, key=lambda c: order[c.horizon])),
        skipped=tuple(skipped.lines()),
        attribution=causes,
    )


def _rate(dataset: Recordings) -> float:
    rate = getattr(dataset, "rate", None)
    return float(rate if rate is not None else dataset[0].rate)


def _groups(recordings: Recordings) -> Iterator[list[Recording]]:
    """Recordings that fill a batch of copies together without filling the memory."""
    group: list[Recording] = []
    frames = 0
    for i in range(len(recordings)):
        group.append(recordings[i])
        frames += len(group[-1])
        if frames >= GROUP_FRAMES or len(group) >= COPIES:
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

    def note(self, group: list[Recording], found: list[Replay], horizon: Horizon) -> None:
        replayed = {id(r.recording) for r in found}
        for played in found:
            if played.diverged.any():
                self._add(
                    "the rest of windows that diverged (try a smaller --physics-step or more armature; "
                    "--dump FOLDER keeps the last states)",
                    played.recording.name,
                )
            if played.base == "estimated":
                self._add(
                    "errors in the world frame (the log has no base pose; replay starts from one "
                    "estimated from joints, IMU and feet)",
                    played.recording.name,
                )
        for recording in group:
            if id(recording) not in replayed:
                self._add(f"no unbroken stretch of {horizon} s", recording.name)
            if "torque" not in recording.channels:
                self._add("torque error (no torque was logged)", recording.name)

    def _add(self, what: str, name: str) -> None:
        names = self._recordings.setdefault(what, [])
        if name not in names:
            names.append(name)

    def lines(self) -> list[str]:
        return [
            f"{what}: {len(names)} recordings, e.g. {names[0]}"
            for what, names in self._recordings.items()
        ]
