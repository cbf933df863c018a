"""A Dataset: recordings of one robot, on disk or in memory, loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from gapless.errors import DataError
from gapless.recordings.motion_identity import motions_of
from gapless.recordings.recording import Recording
from gapless.recordings.split import Split
from gapless.recordings.splitting import SHARE, split_recordings
from gapless.recordings.store.episode import Episode
from gapless.recordings.store.reader import open_store
from gapless.recordings.store.writer import DatasetWriter

__all__ = ["Dataset", "DatasetWriter", "Episode"]

Load = Callable[[int], Recording]


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
        """What was commanded, each once, in order of appearance; see `motions_of`."""
        return tuple(dict.fromkeys(motions_of(self)))

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
        self,
        by: Literal["motion", "unit"] = "motion",
        test: Sequence[str] | float = SHARE,
        choose: float = SHARE,
        units: Collection[str] = (),
        seed: int = 0,
        learn: Sequence[str] = (),
    ) -> Split:
        """Divide into what teaches, what chooses and what is only reported; `split_recordings`."""
        return split_recordings(
            self, by=by, test=test, choose=choose, units=units, seed=seed, learn=learn
        )
