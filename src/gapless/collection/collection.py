"""A Collection: a folder of datasets that one plan made, and the folder's life on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless import artifact
from gapless.errors import ArtifactError, FormatError
from gapless.recordings.dataset import Dataset
from gapless.recordings.store.lock import Lock
from gapless.recordings.store.part_files import difference

if TYPE_CHECKING:
    from gapless.collection.plan import CollectionPlan

SPLITS = ("fit", "held_out")
FILE, CARD, PICTURE = "collection.json", "README.md", "card.png"
UNFINISHED = ".collecting.json"
"""The plan of a collection that is being made; it goes when all datasets are whole."""
UNITS = ".collecting.units"
"""Folder of what workers simulated, a dataset for each unit, split and rate."""
_LOCK = ".collecting.lock"
_FIELDS = ("format", "plan", "datasets", "motions", "left_out")
FORMAT = 1


@dataclass(frozen=True)
class Stored:
    """One dataset of a collection.

    Attributes:
        split: fit or held_out.
        rate: samples per second.
        sequences: number of recordings.
        frames: samples of all of them.
        bytes: size on disk.
    """

    split: str
    rate: int
    sequences: int
    frames: int
    bytes: int

    @property
    def name(self) -> str:
        """Its folder in the collection."""
        return f"{self.split}/{self.rate}hz"

    @property
    def hours(self) -> float:
        """Robot time."""
        return self.frames / self.rate / 3600


@dataclass(frozen=True)
class Collection:
    """Datasets that one plan made: one for each split and rate.

    Attributes:
        path: the folder.
        plan: every option that decided the content.
        datasets: what is stored.
        motions: level or source -> number of distinct motions.
        left_out: sequences that did not end well, what happened, and when.
        figures: hashes of the robot and of the motions.
    """

    path: Path
    plan: dict[str, Any]
    datasets: tuple[Stored, ...]
    motions: dict[str, int]
    left_out: tuple[dict[str, Any], ...] = ()
    figures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path) -> Collection:
        """Open a finished collection, or say what is there instead."""
        path = Path(path)
        if (path / UNFINISHED).is_file() and not (path / FILE).is_file():
            raise FormatError(
                f"{path} is not finished; the same gapless collect command again resumes"
            )
        facts = artifact.read_json(path / FILE)
        if not isinstance(facts, dict) or any(name not in facts for name in _FIELDS):
            raise FormatError(f"{path / FILE} lacks {_FIELDS}; restore the file")
        if facts.get("format") != FORMAT:
            raise FormatError(
                f"{path / FILE} has format {facts.get('format')!r}, this version reads {FORMAT!r}"
            )
        try:
            datasets = tuple(Stored(**entry) for entry in facts["datasets"])
            left_out, figures = tuple(facts["left_out"]), dict(facts.get("figures", {}))
        except (TypeError, ValueError) as error:
            raise FormatError(f"{path / FILE} is damaged ({error}); restore the file") from error
        return cls(path, facts["plan"], datasets, facts["motions"], left_out, figures)

    def require(self, figures: Mapping[str, str]) -> None:
        """Refuse a finished collection of other files, or one that lost a dataset."""
        problems = [
            f"{s.name} is missing" for s in self.datasets if not (self.path / s.name).is_dir()
        ]
        problems += [
            f"{name} changed" for name in figures if figures[name] != self.figures.get(name)
        ]
        if problems:
            raise ArtifactError(
                f"{self.path} is finished, but {'; '.join(problems)}; choose another --out, or "
                "start over with --restart"
            )

    @staticmethod
    def is_at(path: str | Path) -> bool:
        """Whether a folder is a collection, finished or not."""
        return any((Path(path) / name).is_file() for name in (FILE, UNFINISHED))

    def dataset(self, split: str = "fit", rate: int | None = None) -> Dataset:
        """Open one of the datasets; the first rate by default."""
        for stored in self.datasets:
            if stored.split == split and rate in (None, stored.rate):
                return Dataset.open(self.path / stored.name)
        listed = ", ".join(stored.name for stored in self.datasets)
        raise FormatError(f"{self.path} has no dataset {split!r} at {rate} Hz; it has {listed}")

    @property
    def hours(self) -> float:
        """Robot time of all datasets."""
        return sum(stored.hours for stored in self.datasets)

    def save(self) -> None:
        """Write what the collection is."""
        facts = asdict(self) | {"format": FORMAT, "software": artifact.provenance()}
        del facts["path"]
        artifact.write_json(self.path / FILE, facts)


@contextmanager
def working(path: Path, plan: CollectionPlan, restart: bool) -> Iterator[bool]:
    """Work on the collection of a plan, alone; what another plan or tool left is refused.

    Args:
        path: the folder.
        plan: what is collected.
        restart: delete what this tool left there before.

    Yields:
        Whether the collection is finished already.
    """
    _refuse_foreign(path)
    lock = Lock(path / _LOCK, str(path))
    try:
        lock.acquire()
    except OSError as error:
        raise ArtifactError(f"cannot write {path}: {artifact.refusal(error)}") from error
    try:
        if restart:
            _start_over(path, plan)
        _refuse_other_plan(path, plan)
        finished = (path / FILE).is_file()
        if not finished:
            artifact.write_json(path / UNFINISHED, plan.to_dict())
        yield finished
        (path / UNFINISHED).unlink(missing_ok=True)
        shutil.rmtree(path / UNITS, ignore_errors=True)
    finally:
        lock.release(remove=True)


def _refuse_foreign(path: Path) -> None:
    """A collection must not be mixed with what somebody else keeps there."""
    if not path.exists() or Collection.is_at(path):
        return
    if not path.is_dir() or any(".collecting" not in entry.name for entry in path.iterdir()):
        raise ArtifactError(f"{path} is no collection and not empty; choose another --out")


def _refuse_other_plan(path: Path, plan: CollectionPlan) -> None:
    if not Collection.is_at(path):
        return
    finished = (path / FILE).is_file()
    known = Collection.open(path).plan if finished else artifact.read_json(path / UNFINISHED)
    if differing := difference(known, plan.to_dict()):
        raise ArtifactError(
            f"{path} was begun with other options ({differing}); run it with the same options, "
            "choose another --out, or start over with --restart"
        )


def _start_over(path: Path, plan: CollectionPlan) -> None:
    """Delete what is there; the new plan is written first, so that a kill leaves no riddle."""
    artifact.write_json(path / UNFINISHED, plan.to_dict())
    for name in (FILE, CARD, PICTURE):
        (path / name).unlink(missing_ok=True)
    for folder in (*SPLITS, UNITS):
        shutil.rmtree(path / folder, ignore_errors=True)
