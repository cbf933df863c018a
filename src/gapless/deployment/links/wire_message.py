"""WireMessage: one of Unitree's messages as bytes, whose numbers are read and written in place."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gapless.deployment.links.unitree_crc import word_crc
from gapless.deployment.links.unitree_wire import cdr_format, layout_of, numbers_of, offsets

HEADER = b"\0\1\0\0"
"""How plain CDR begins, little endian."""
Rows = tuple[int, ...]


class WireMessage:
    """A message of a control step holds hundreds of numbers; objects for all cost half of its time.

    Args:
        kind: type of the message.
        data: CDR with its header, as it came; zeros without.
    """

    def __init__(self, kind: str, data: bytes | None = None) -> None:
        self.kind, size = kind, wire_size(kind)
        self._bytes = np.zeros(size, np.uint8)
        if data is not None:
            self._bytes[:] = np.frombuffer(data, np.uint8, size, len(HEADER))

    @classmethod
    def of_numbers(cls, kind: str, numbers: Sequence[float]) -> WireMessage:
        """All of them, in the order of the fields."""
        return cls(kind, HEADER + struct.pack(f"<{cdr_format(kind)}", *numbers))

    @property
    def data(self) -> bytes:
        """CDR with its header."""
        return HEADER + self._bytes.tobytes()

    def get(self, path: str, rows: Rows = ()) -> np.ndarray:
        """Numbers of one field; those of these rows where the path has a star: motor_state.*.q."""
        letter, cells = _cells(self.kind, path, rows)
        return self._bytes.view(f"<{_NUMPY[letter]}")[cells]

    def put(self, path: str, values: Any, rows: Rows = ()) -> None:
        """Write them; what `get` reads."""
        letter, cells = _cells(self.kind, path, rows)
        self._bytes.view(f"<{_NUMPY[letter]}")[cells] = values

    def seal(self) -> None:
        """Write its checksum into it."""
        self.put("crc", self._checksum())

    @property
    def is_sealed(self) -> bool:
        """Whether its checksum is right."""
        return int(self.get("crc")) == self._checksum()

    def in_memory(self) -> np.ndarray:
        """As C lays it out: of these bytes the vendor takes the checksum."""
        size, to, since = _memory_order(self.kind)
        found = np.zeros(size, np.uint8)
        found[to] = self._bytes[since]
        return found

    def _checksum(self) -> int:
        return word_crc(self.in_memory()[:-4])


_NUMPY = {"B": "u1", "H": "u2", "I": "u4", "h": "i2", "i": "i4", "f": "f4"}


@cache
def wire_size(kind: str) -> int:
    """Bytes of a message, without the header."""
    return struct.calcsize(f"<{cdr_format(kind)}")


@cache
def _cells(kind: str, path: str, rows: Rows) -> tuple[str, Any]:
    """The letter of a field, and where its numbers are among numbers of its kind."""
    numbers, places = numbers_of(kind), _places(kind)
    names = [path.replace("*", str(row)) for row in rows] if "*" in path else [path]
    whole = [name for name in places if name.startswith(f"{path}.")]
    found = whole if whole and "*" not in path else names
    letter = numbers[found[0]]
    cells = np.array([places[name] // struct.calcsize(f"<{letter}") for name in found])
    return letter, cells if whole or "*" in path else int(cells[0])


@cache
def _places(kind: str) -> dict[str, int]:
    """Where each number is on the wire, bytes after the header."""
    return dict(zip(numbers_of(kind), offsets(cdr_format(kind)), strict=True))


@cache
def _memory_order(kind: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Size in memory; where each byte goes there, and where it is on the wire."""
    sizes = [struct.calcsize(f"<{letter}") for letter in numbers_of(kind).values()]
    memory, wire = layout_of(kind)[0], cdr_format(kind)
    to, since = (
        np.concatenate([np.arange(o, o + s) for o, s in zip(offsets(f), sizes, strict=True)])
        for f in (memory, wire)
    )
    return struct.calcsize(f"<{memory}"), to, since
