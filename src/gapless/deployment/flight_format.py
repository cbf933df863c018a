"""What a flight looks like on disk: a header, and rows of numbers that each prove themselves.

A row is a checksum and float64 numbers, appended by one write. Whatever ends the process, the rows
that were written are there; the one that was not written whole is known by its checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json, write_json
from gapless.deployment.robot_link import CHANNELS, JointCommand, LinkState
from gapless.errors import FormatError
from gapless.field_kinds import wrong_fields

FORMAT = 1
HEADER = "flight.json"
ROWS = "rows-{:06d}.bin"
TIMES = ("step", "moment", "sequence", "stamp", "received", "seen")
"""Columns of every row before the samples; `seen` is 0 where nothing was received."""
ASKED = "asked"
"""What was asked then: number of the stage, whether the robot was on its feet, velocity."""
SENT = ("target", "target_dq", "kp", "kd", "torque_ff")
MOST_COLUMNS = 10_000
LAST_STEP = 2**53
"""Up to which a float counts."""
_COMMAND = {"target": "q", "target_dq": "dq", "torque_ff": "tau"}


@dataclass(frozen=True)
class FlightHeader:
    """What is true for a whole flight.

    Attributes:
        robot: its name.
        joints: in the order of the columns.
        rate: control steps per second.
        motion: what the robot was asked to do.
        columns: name -> how many numbers, in order; without TIMES.
        conditions: as `Conditions.to_dict` gives them; gains are in the rows.
        provenance: where it comes from.
    """

    robot: str
    joints: tuple[str, ...]
    rate: float
    motion: str
    columns: dict[str, int]
    conditions: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return len(TIMES) + sum(self.columns.values())

    def write(self, folder: Path) -> None:
        """Complete or absent."""
        write_json(folder / HEADER, {"format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> FlightHeader:
        """Or say what is wrong with it."""
        data = read_json(folder / HEADER)
        try:
            if data.pop("format") != FORMAT:
                raise FormatError(f"{folder} is a flight of another version of gapless")
            header = cls(**{**data, "joints": tuple(data["joints"])})
        except (AttributeError, KeyError, TypeError) as error:
            raise FormatError(f"{folder / HEADER} is no header of a flight: {error}") from error
        wrong = [*wrong_fields(header)] or [*header._wrong_columns()]
        if wrong:
            raise FormatError(f"{folder / HEADER} is no header of a flight: {'; '.join(wrong)}")
        return header

    def _wrong_columns(self) -> Iterator[str]:
        lacking = [c for c in ("q", "dq", *SENT) if self.columns.get(c) != len(self.joints)]
        if lacking:
            yield f"{', '.join(lacking)} must have {len(self.joints)} columns, one a joint"
        if any(not 0 < size <= MOST_COLUMNS for size in self.columns.values()):
            yield f"columns are {self.columns}; expected 1 to {MOST_COLUMNS} numbers each"


def columns_of(state: LinkState, channels: Sequence[str], asked: int = 0) -> dict[str, int]:
    """The columns of a robot with these channels, sized by its first sample.

    Args:
        state: the sample.
        channels: of the link.
        asked: numbers of what is asked; 0 where nobody says it.
    """
    count = len(state.q)
    sizes = {"q": count, "dq": count}
    for name in (c for c in CHANNELS if c in channels and getattr(state, c) is not None):
        sizes[name] = int(np.size(getattr(state, name)))
    return sizes | dict.fromkeys(SENT, count) | ({ASKED: asked} if asked else {})


def pack_row(
    columns: dict[str, int],
    step: int,
    moment: float,
    state: LinkState | None,
    sent: JointCommand,
    asked: np.ndarray | None = None,
) -> bytes:
    """A row with its checksum; what is not there is NaN."""
    times = (np.nan,) * 3 if state is None else (state.sequence, state.stamp, state.received)
    parts = [np.array([step, moment, *times, float(state is not None)])]
    for name, size in columns.items():
        parts.append(
            asked if name == ASKED and asked is not None else _values(name, size, state, sent)
        )
    data = np.concatenate(parts).astype("<f8").tobytes()
    return zlib.crc32(data).to_bytes(4, "little") + data


def _values(name: str, size: int, state: LinkState | None, sent: JointCommand) -> np.ndarray:
    found = getattr(sent, _COMMAND.get(name, name)) if name in SENT else getattr(state, name, None)
    array = np.full(size, np.nan) if found is None else np.ravel(np.asarray(found, float))
    return array if len(array) == size else np.full(size, np.nan)


def read_rows(path: Path, width: int) -> tuple[np.ndarray, int]:
    """(n, width) the rows of a file that prove themselves, and how many did not."""
    size, data = 4 + 8 * width, path.read_bytes()
    whole = range(0, len(data) - size + 1, size)
    good = [data[i + 4 : i + size] for i in whole if _proven(data[i : i + size])]
    rows = np.frombuffer(b"".join(good), "<f8").reshape(-1, width)
    step = rows[:, TIMES.index("step")]
    rows = rows[(step >= 0) & (step < LAST_STEP)]
    return rows, -(-len(data) // size) - len(rows)


def _proven(row: bytes) -> bool:
    return zlib.crc32(row[4:]) == int.from_bytes(row[:4], "little")


def row_files(folder: Path) -> Iterator[Path]:
    """The files of rows, in order."""
    yield from sorted(folder.glob("rows-*.bin"))
