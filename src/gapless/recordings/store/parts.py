"""Writing a dataset in parts, so that a kill costs at most the part that was being written.

A part is one data file and one episode file, each written under a temporary name, forced to the
disk and renamed; the episode file comes last and says that the part is whole. The parts wait in
a hidden folder beside the dataset, in their final layout, until `finish` publishes them by one
rename.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gapless import artifact
from gapless.errors import ArtifactError, DataError
from gapless.recordings.recording import Recording
from gapless.recordings.store import lerobot
from gapless.recordings.store.entries import (
    Entry,
    Header,
    encode,
    episode_table,
    write_json_files,
)
from gapless.recordings.store.lock import Lock
from gapless.recordings.store.part_files import (
    PLAN,
    Summary,
    difference,
    episodes_path,
    part_metadata,
    read_part,
    read_stats,
)
from gapless.recordings.store.shards import ROWS_PER_GROUP, samples_writer, shard_path


class PartsWriter:
    """Write a dataset part by part, as a context manager; `finish` publishes it.

    Opened again with the same plan after a kill, it goes on after the last whole part.

    Args:
        path: the dataset folder to make.
        robot: name of the robot.
        joints: joint names, in the order every recording has them.
        rate: samples per second, a whole number.
        plan: plain JSON values that decide the content; another plan is not continued.
        provenance: where the recordings come from.

    Attributes:
        parts_done: number of whole parts, which is also the number of the next one.
        notes: the notes of all whole parts.

    Example:
        with PartsWriter(path, robot.name, robot.joints.names, 50, plan) as writer:
            for batch in batches[writer.parts_done:]:
                writer.write(play(batch))
            writer.finish()
    """

    def __init__(
        self,
        path: str | Path,
        robot: str,
        joints: Sequence[str],
        rate: float,
        plan: Mapping[str, Any],
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path).resolve()
        self.header = Header(self.path.name, robot, tuple(joints), rate, dict(provenance or {}))
        self.plan = json.loads(json.dumps(plan))
        self.parts_done, self.notes = 0, list[Any]()
        self._folder = self.path.with_name(f".{self.path.name}.partial")
        self._lock = Lock(self._folder.with_suffix(".lock"), str(self.path))
        self._features: dict[str, lerobot.Feature] = {}
        self._tasks: dict[str, int] = {}
        self._episodes = self._frames = self._masked = 0
        self._finished = False

    def __enter__(self) -> PartsWriter:
        with self._explained():
            self._lock.acquire()
            try:
                self._open()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release(remove=self._finished)

    def write(self, recordings: Iterable[Recording], notes: Sequence[Any] = ()) -> None:
        """Write one whole part.

        Args:
            recordings: of this part; each is encoded as it comes and not kept.
            notes: plain JSON values to keep with the part, such as what was left out of it.
        """
        with self._explained():
            entries = self._write_samples(recordings)
            self._write_entries(entries, list(notes))
        self.parts_done += 1
        self.notes += notes
        self._count([entry.episode for entry in entries])

    def finish(self) -> None:
        """Write what describes the whole, then publish the dataset by one rename."""
        if not self._episodes:
            raise DataError(f"no recordings were added, so {self.path} was not written")
        totals = {
            "total_episodes": self._episodes,
            "total_frames": self._frames,
            "total_tasks": len(self._tasks),
        }
        with self._explained():
            keys = [*self._features, *lerobot.INDEX]
            stats = read_stats(self._folder, self.parts_done, keys)
            pq.write_table(lerobot.tasks_table(list(self._tasks)), self._folder / lerobot.TASKS)
            write_json_files(self._folder, self.header, self._features, totals, self._masked, stats)
            artifact.write_json(self._folder / artifact.MARKER, artifact.provenance())
            artifact.sync_tree(self._folder)
            os.replace(self._folder, self.path)
            artifact.sync(self.path.parent)
        self._finished = True

    def _open(self) -> None:
        if self.path.exists():
            raise ArtifactError(f"{self.path} already exists; choose another --out")
        if (self._folder / PLAN).is_file():
            known = artifact.read_json(self._folder / PLAN)
            if differing := difference(known, self.plan):
                raise ArtifactError(
                    f"{self.path} was begun with other options ({differing}); "
                    "finish it with the same options, choose another --out, or start over "
                    "with --restart"
                )
            self._resume()
        else:
            shutil.rmtree(self._folder, ignore_errors=True)
            artifact.write_json(self._folder / PLAN, self.plan)

    def _resume(self) -> None:
        """Count what is whole, and delete everything else."""
        kept = {self._folder / PLAN}
        while (path := episodes_path(self._folder, self.parts_done)).is_file():
            part: Summary = read_part(path)
            self._features = part.features or self._features
            self.notes += part.notes
            self._count(part.episodes)
            kept |= {path, self._shard(self.parts_done)}
            self.parts_done += 1
        for path in self._folder.rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()

    def _shard(self, part: int) -> Path:
        return shard_path(self._folder, *divmod(part, lerobot.CHUNK_FILES))

    def _count(self, episodes: Iterable[Any]) -> None:
        for episode in episodes:
            self._tasks.setdefault(episode.name, len(self._tasks))
            self._episodes += 1
            self._frames += episode.frames
            self._masked += episode.masked

    def _write_samples(self, recordings: Iterable[Recording]) -> list[Entry]:
        """Write the data file; a part that lost all its recordings has none."""
        encoded = self._encoded(recordings)
        first = next(encoded, None)
        if first is None:
            return []
        schema = lerobot.data_schema(self._features)
        entries = [first[0]]

        def fill(sink: pa.NativeFile) -> None:
            with samples_writer(sink, schema) as writer:
                writer.write_table(first[1].select(schema.names), ROWS_PER_GROUP)
                for entry, table in encoded:
                    entries.append(entry)
                    writer.write_table(table.select(schema.names), ROWS_PER_GROUP)

        _publish(self._shard(self.parts_done), fill)
        return entries

    def _encoded(self, recordings: Iterable[Recording]) -> Iterator[tuple[Entry, pa.Table]]:
        index, start, tasks = self._episodes, self._frames, dict(self._tasks)
        for recording in recordings:
            self.header.refuse_different(recording)
            features = lerobot.in_order(lerobot.features_of(recording))
            self._features = self._features or features
            if features != self._features:
                raise DataError(
                    f"recording {recording.name!r} has the channels {sorted(features)}, the "
                    f"dataset {sorted(self._features)}; all recordings of parts must be alike"
                )
            task = tasks.setdefault(recording.name, len(tasks))
            entry, columns = encode(recording, features, index, start, task)
            index, start = index + 1, start + entry.episode.frames
            yield entry, pa.table(columns)

    def _write_entries(self, entries: list[Entry], notes: list[Any]) -> None:
        """Write the episode file, which makes the part whole."""
        keys = [*self._features, *lerobot.INDEX]
        places = [divmod(self.parts_done, lerobot.CHUNK_FILES)] * len(entries)
        table = episode_table(entries, places, self._frames, keys, self.parts_done)
        table = table.replace_schema_metadata(part_metadata(self._features, notes))
        _publish(
            episodes_path(self._folder, self.parts_done),
            lambda sink: pq.write_table(table, sink, write_page_checksum=True),
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ArtifactError(
                f"cannot write {self.path}: {artifact.refusal(error)}. {self.parts_done} whole "
                "parts are kept; the same command again resumes there"
            ) from error


def _publish(path: Path, fill: Callable[[pa.NativeFile], object]) -> None:
    """Write a file that is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    try:
        with pa.OSFile(str(temporary), "wb") as sink:
            fill(sink)
        artifact.sync(temporary)
        os.replace(temporary, path)
        artifact.sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
