"""Reading a LeRobot v3.0 dataset: the layout is checked on opening, samples are read on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gapless.artifact import read_json
from gapless.errors import DataError, FormatError
from gapless.recordings.recording import BODY_CHANNELS, JOINT_CHANNELS, Recording
from gapless.recordings.store import lerobot
from gapless.recordings.store.episode import Episode
from gapless.recordings.store.layout import Place, check_layout
from gapless.recordings.store.shards import Shard

LARGEST_ANGLE = 4 * np.pi
"""rad; beyond it, angles of a dataset that gapless did not write must be in another unit."""


@dataclass(frozen=True)
class Store:
    """A dataset on disk whose layout was found sound.

    Attributes:
        root: the folder.
        robot: name of the robot.
        joints: joint names in column order.
        rate: samples per second.
        provenance: where it comes from and which software wrote it; empty if not gapless.
    """

    root: Path
    robot: str
    joints: tuple[str, ...]
    rate: float
    provenance: dict[str, Any]
    widths: Mapping[str, int] = field(repr=False)
    places: Mapping[int, Place] = field(repr=False)
    shards: Mapping[tuple[int, int], Shard] = field(repr=False)
    native: bool = True

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """What is stored, without the samples."""
        return tuple(place.episode for place in self.places.values())

    def load(self, index: int) -> Recording:
        """Read the samples of one episode; only the row groups that hold it are touched."""
        place = self.places[index]
        episode = place.episode
        table = self.shards[place.shard].read(place.start, place.stop, self._columns())
        self._refuse_misplaced(table, index)
        q = self._matrix(table, lerobot.STATE)
        if not self.native:
            self._refuse_degrees(q)
        commanded = lerobot.ACTION in self.widths
        target = _present(self._matrix(table, lerobot.ACTION)) if commanded else None
        channels = {c: _present(self._matrix(table, key)) for c, key in self._channels().items()}
        return Recording(
            name=episode.name,
            joints=self.joints,
            rate=self.rate,
            q=q,
            target=target,
            mask=self._mask(table, q, target),
            channels={name: array for name, array in channels.items() if array is not None},
            conditions=episode.conditions,
            provenance=episode.provenance,
        )

    def _channels(self) -> dict[str, str]:
        """Stored channels whose width is what the channel means."""
        expected = {c: len(self.joints) for c in JOINT_CHANNELS}
        expected |= {c: width for c, (width, _) in BODY_CHANNELS.items() if width}
        return {
            channel: key
            for channel, key in lerobot.KEYS.items()
            if key in self.widths and self.widths[key] == expected.get(channel, self.widths[key])
        }

    def _columns(self) -> list[str]:
        there = [key for key in (lerobot.ACTION, lerobot.VALID) if key in self.widths]
        return [lerobot.STATE, *there, *self._channels().values(), *lerobot.INDEX]

    def _refuse_misplaced(self, table: pa.Table, index: int) -> None:
        """The rows must be those of the episode, and at the stated rate."""
        found = table["episode_index"].unique().to_pylist()
        late = lerobot.timestamp_error(table, self.rate)
        if found != [index] or late:
            raise FormatError(
                f"{self.root}, episode {index}: "
                + (late or f"its rows carry episode_index {found[:3]}")
                + "; the tables of this dataset disagree, import it again"
            )

    def _matrix(self, table: pa.Table, key: str) -> np.ndarray:
        """(T, k) float64 values of a column, whether stored as scalars or as lists."""
        values = _flat(table[key])
        if len(values) != table.num_rows * self.widths[key]:
            raise FormatError(
                f"{self.root}: {key} has {len(values)} values in {table.num_rows} rows, "
                f"expected {self.widths[key]} a row"
            )
        return values.astype(np.float64).reshape(table.num_rows, -1)

    def _mask(self, table: pa.Table, q: np.ndarray, target: np.ndarray | None) -> np.ndarray:
        # Other tools keep this column when they copy a dataset, but not the facts.
        if lerobot.VALID in self.widths:
            return self._matrix(table, lerobot.VALID).astype(bool)
        return np.isfinite(q) if target is None else np.isfinite(q) & np.isfinite(target)

    def _refuse_degrees(self, q: np.ndarray) -> None:
        largest = np.nanmax(np.abs(q), initial=0.0)
        if largest > LARGEST_ANGLE:
            raise DataError(
                f"{self.root}: {lerobot.STATE} reaches {largest:.4g}, so it is not in radians; "
                f"convert it: gapless import lerobot {self.root} --angle-unit deg --out <folder>"
            )


def open_store(path: str | Path) -> Store:
    """Open a dataset folder, or list everything that is wrong with it."""
    root = Path(path)
    if not (root / lerobot.INFO).is_file():
        raise FormatError(_no_dataset(root))
    info = read_json(root / lerobot.INFO)
    facts = read_json(root / lerobot.FACTS) if (root / lerobot.FACTS).exists() else {}
    layout = check_layout(root, info, facts)
    return Store(
        root=root,
        robot=str(facts.get("robot") or info.get("robot_type") or "unknown"),
        joints=layout.joints,
        rate=float(info["fps"]),
        provenance=facts.get("provenance", {}) | {k: facts[k] for k in ("software",) if k in facts},
        widths=layout.widths,
        places=layout.places,
        shards=layout.shards,
        native=bool(facts),
    )


def _flat(column: pa.ChunkedArray) -> np.ndarray:
    """Values of a column of numbers or of lists of numbers, row after row."""
    array = column.combine_chunks()
    return (array.flatten() if pa.types.is_nested(array.type) else array).to_numpy(
        zero_copy_only=False
    )


def _present(values: np.ndarray) -> np.ndarray | None:
    """A channel that is NaN throughout was never logged."""
    return None if np.isnan(values).all() else values


def _no_dataset(root: Path) -> str:
    """Say what is there instead of a dataset."""
    inner = sorted(
        str(info.parents[1].relative_to(root)) for info in root.glob(f"*/*/{lerobot.INFO}")
    )
    if inner:
        return f"{root} is a folder of datasets; name one of them: {', '.join(inner)}"
    if not root.exists():
        found = "it does not exist"
    elif root.is_file():
        found = f"it is a file of {root.stat().st_size} bytes"
    else:
        kinds = Counter(p.suffix or "folder" for p in root.iterdir() if not p.name.startswith("."))
        listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(4))
        found = f"it holds {listed or 'nothing'}, and no {lerobot.INFO}"
    return (
        f"{root} is no dataset: {found}. Logs become a dataset with: "
        f"gapless import <format> {root} --robot <robot> --out <folder>"
    )
