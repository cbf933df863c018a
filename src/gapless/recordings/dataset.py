"""A Dataset: recordings of one robot, on disk or in memory, loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gapless.errors import DataError, unknown
from gapless.recordings.recording import Recording
from gapless.recordings.store.episode import Episode
from gapless.recordings.store.reader import open_store
from gapless.recordings.store.writer import DatasetWriter

__all__ = ["Dataset", "DatasetWriter", "Episode"]

Load = Callable[[int], Recording]
GROUPS: dict[str, Callable[[Episode], str | None]] = {
    "motion": lambda episode: episode.name,
    "unit": lambda episode: episode.conditions.unit,
}


class Dataset:
    """A sequence of recordings with one set of joints and one rate.

    Samples are read when a recording is asked for, and not kept: iterating over a
    dataset larger than memory is fine.

    Attributes:
        robot: name of the robot.
        joints: joint names, in column order of every recording.
        rate: samples per second.
        episodes: what each recording is, without its samples.
        provenance: where the dataset comes from and which software wrote it.
        path: folder that it was opened from; None where it was made in memory.
    """

    def __init__(
        self,
        robot: str,
        joints: tuple[str, ...],
        rate: float,
        episodes: tuple[Episode, ...],
        load: Load,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.robot, self.joints, self.rate = robot, joints, rate
        self.episodes = episodes
        self.provenance = dict(provenance or {})
        self._load = load
        self.path: Path | None = None

    @classmethod
    def open(cls, path: str | Path) -> Dataset:
        """Open a dataset folder: one that gapless wrote, or any LeRobot v3.0 dataset in radians.

        Raises:
            FormatError: the folder is no dataset, or is damaged; every problem is listed.
        """
        store = open_store(path)
        found = cls(
            store.robot, store.joints, store.rate, store.episodes, store.load, store.provenance
        )
        found.path = Path(path)
        return found

    @classmethod
    def from_recordings(cls, recordings: Iterable[Recording], robot: str = "unknown") -> Dataset:
        """A dataset in memory; all recordings must have the same joints and rate."""
        clips = tuple(recordings)
        if not clips:
            raise DataError("a dataset needs at least one recording, none was given")
        first = clips[0]
        for clip in clips:
            if (clip.joints, clip.rate) != (first.joints, first.rate):
                raise DataError(
                    f"recording {clip.name!r} has {len(clip.joints)} joints at {clip.rate:g} Hz, "
                    f"{first.name!r} has {len(first.joints)} at {first.rate:g} Hz; joints (by name "
                    "and order) and rate must be equal within a dataset"
                )
        episodes = tuple(Episode.of(i, clip) for i, clip in enumerate(clips))
        return cls(robot, first.joints, first.rate, episodes, clips.__getitem__)

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write this dataset to a folder that LeRobot's own reader opens too."""
        with DatasetWriter(
            path, self.robot, self.joints, self.rate, self.provenance, overwrite
        ) as writer:
            for recording in self:
                writer.append(recording)

    def __len__(self) -> int:
        return len(self.episodes)

    def __getitem__(self, i: int) -> Recording:
        return self._load(self.episodes[i].index)

    def __iter__(self) -> Iterator[Recording]:
        for episode in self.episodes:
            yield self._load(episode.index)

    def __repr__(self) -> str:
        return (
            f"Dataset({self.robot}: {len(self)} recordings, {self.seconds:.1f} s "
            f"at {self.rate:g} Hz, {len(self.joints)} joints)"
        )

    @property
    def seconds(self) -> float:
        """Total duration of the recordings."""
        return sum(episode.frames - 1 for episode in self.episodes) / self.rate

    @property
    def motions(self) -> tuple[str, ...]:
        """Names of the motions, each once, in order of appearance."""
        return tuple(dict.fromkeys(episode.name for episode in self.episodes))

    def select(self, which: Callable[[Episode], bool] | Iterable[int]) -> Dataset:
        """A view of some recordings; samples are shared, not copied.

        Args:
            which: positions in this dataset, or a test of an Episode.
        """
        if callable(which):
            chosen = tuple(episode for episode in self.episodes if which(episode))
        else:
            chosen = tuple(self._episode(i) for i in which)
        return Dataset(self.robot, self.joints, self.rate, chosen, self._load, self.provenance)

    def map(self, change: Callable[[Recording], Recording]) -> Dataset:
        """A view whose recordings are changed as they are read."""
        load = self._load
        return Dataset(
            self.robot,
            self.joints,
            self.rate,
            self.episodes,
            lambda i: change(load(i)),
            self.provenance,
        )

    def _episode(self, i: int) -> Episode:
        if not -len(self) <= i < len(self):
            raise DataError(f"recording {i} does not exist; this dataset has 0 to {len(self) - 1}")
        return self.episodes[i]

    def split(
        self, by: Literal["motion", "unit"] = "motion", test: float = 0.2, seed: int = 0
    ) -> tuple[Dataset, Dataset]:
        """Split into (train, test) so that no motion (or unit) is in both.

        Args:
            by: what must not be in both parts.
            test: share of the motions (or units) that go to the test part; at least one does.
            seed: which ones; the same seed always gives the same split.
        """
        if by not in GROUPS:
            raise unknown("way to split", by, GROUPS)
        if not 0 < test < 1:
            raise DataError(f"the test share is {test}, expected a number between 0 and 1")
        group = GROUPS[by]
        names = sorted({name for name in map(group, self.episodes) if name is not None})
        self._refuse_unsplittable(by, names)
        count = min(max(round(test * len(names)), 1), len(names) - 1)
        order = np.random.default_rng(seed).permutation(len(names))
        held_out = {names[i] for i in order[:count]}
        return (
            self.select(lambda episode: group(episode) not in held_out),
            self.select(lambda episode: group(episode) in held_out),
        )

    def _refuse_unsplittable(self, by: str, names: list[str]) -> None:
        silent = sum(GROUPS[by](episode) is None for episode in self.episodes)
        if silent:
            raise DataError(
                f"{silent} of {len(self)} recordings do not say their {by}, so a split by {by} "
                "could leak; split by motion, or import with the unit stated (--unit)"
            )
        if len(names) < 2:
            raise DataError(
                f"the dataset has {len(names)} {by} ({', '.join(names)}); a split by {by} needs "
                "at least two: record another, or measure on a separate dataset"
            )
