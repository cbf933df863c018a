"""What the viewer can show: a run's replays and episodes, a policy loop, a dataset."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

import numpy as np

from gapless.closing.run import REPLAYS, Run
from gapless.errors import ArtifactError, DataError, GaplessError
from gapless.evaluation.kept_evaluations import worst_episodes
from gapless.measurement.alignment import in_robot_order
from gapless.measurement.side_by_side import REAL, SideBySide, Track, clip_title, side_by_side
from gapless.recordings import Dataset
from gapless.recordings.recording import Recording
from gapless.reports.ghosts import solid_of
from gapless.robots import Robot
from gapless.tracking.loop_folder import LoopFolder
from gapless.worlds.mujoco_world import MujocoWorld

RAW = "raw"
KEPT = 8
"""Clips of a dataset that are kept, so that going back to one is quick."""


class Source(Protocol):
    """Clips of one robot.

    Attributes:
        robot: of all clips.
        names: of the clips, for people; each begins with its number, so none is there twice.
        tracks: "real", where anything was recorded, and the simulators that clips may have.
    """

    robot: Robot
    names: tuple[str, ...]
    tracks: tuple[str, ...]

    def clip(self, i: int) -> tuple[SideBySide, str]:
        """A clip, and what people should know about it."""
        ...


class RunSource:
    """The replays that a run stored, then policies' worst episodes; see `Source`.

    Args:
        run: made by `gapless close`.
        robot: other than the run's own.
    """

    def __init__(self, run: Run, robot: Robot | None = None) -> None:
        self._clips = stored(run)
        self.robot = robot or run.robot
        self.names = numbered([clip.title for clip in self._clips])
        self.tracks = tuple(dict.fromkeys(t for clip in self._clips for t in clip.tracks))

    def clip(self, i: int) -> tuple[SideBySide, str]:
        """A clip as it was stored; of an episode, which simulator is solid."""
        clip = self._clips[i]
        if REAL in clip.tracks:
            return clip, ""
        solid = solid_of(clip.tracks)
        others = ", the others are ghosts" if len(clip.tracks) > 1 else ""
        return clip, f"Simulated, not recorded: the {solid} robot is solid{others}."


class LoopSource:
    """The typical episodes of a policy loop, all in one clip; see `Source`.

    Args:
        loop: made by `gapless loop`.
        robot: other than the loop's own.
    """

    def __init__(self, loop: LoopFolder, robot: Robot | None = None) -> None:
        self._clip = loop.side_by_side()
        self.robot = robot or loop.robot
        self.names = numbered([f"{loop.motion} on {loop.target}"])
        self.tracks = tuple(self._clip.tracks)

    def clip(self, i: int) -> tuple[SideBySide, str]:
        """The clip, and who is who."""
        solid = solid_of(self._clip.tracks)
        return self._clip, (
            f"The robot {solid} is solid, the reference and other policies are ghosts; commands "
            "are those of the last policy."
        )


class DatasetSource:
    """The recordings of a dataset, replayed in MuJoCo when they are asked for; see `Source`."""

    def __init__(self, dataset: Dataset, robot: Robot) -> None:
        if not len(dataset):
            raise DataError("the dataset has no recordings, so there is nothing to show")
        self._dataset, self.robot = dataset, robot
        self.tracks: tuple[str, ...] = (REAL, RAW)
        told = [(e.name, e.conditions.unit, e.conditions.payload_mass) for e in dataset.episodes]
        self.names = numbered([clip_title(*one) for one in told])
        self._world = MujocoWorld(robot, dataset.rate)
        self.clip = lru_cache(KEPT)(self._replayed)

    def _replayed(self, i: int) -> tuple[SideBySide, str]:
        """The recording and the raw simulator; alone, and why, where it cannot be replayed."""
        recording = self._dataset[i]
        try:
            clips = side_by_side([recording], {RAW: self._world})
        except GaplessError as error:
            return alone(recording, self.robot), f"cannot be replayed: {error}"
        if not clips:
            return alone(recording, self.robot), "cannot be replayed: no two samples are usable"
        return clips[0], ""


def stored(run: Run) -> list[SideBySide]:
    """The clips of a run: what was recorded first."""
    clips = run.replays + worst_episodes(run.path)
    if not clips:
        data = run.facts.get("data", {}).get("path") or "DATA"
        raise ArtifactError(
            f"{run.path} has no replays yet ({REPLAYS}): resume with gapless close {data} --out "
            f"{run.path}, or look at the recordings themselves: gapless view {data}"
        )
    return clips


def alone(recording: Recording, robot: Robot) -> SideBySide:
    """A recording without any simulator."""
    return SideBySide(
        name=recording.name,
        unit=recording.conditions.unit,
        payload=recording.conditions.payload_mass,
        joints=robot.joints.names,
        rate=recording.rate,
        horizon="full",
        target=_columns(recording, robot, recording.target),
        tracks={REAL: Track(_columns(recording, robot, recording.q), *_base(recording, robot))},
    )


def _columns(recording: Recording, robot: Robot, values: np.ndarray | None) -> np.ndarray:
    """(T, J) values in the robot's order; NaN where there are none that may be used."""
    found = np.full((len(recording), len(robot.joints)), np.nan)
    for j, name in enumerate(robot.joints.names):
        if values is not None and name in recording.joints:
            column = recording.column(name)
            found[:, j] = np.where(recording.mask[:, column], values[:, column], np.nan)
    return found


def _base(recording: Recording, robot: Robot) -> tuple[np.ndarray | None, np.ndarray | None]:
    try:
        state = in_robot_order(recording, robot).state
    except GaplessError:
        return None, None
    return state.base_pos, state.base_quat_wxyz


def numbered(titles: list[str]) -> tuple[str, ...]:
    """Titles that differ from each other."""
    return tuple(f"{i}. {title}" for i, title in enumerate(titles, 1))
