"""How much an MCAP file would become: its chunks state it, and their data tell it again."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gapless.errors import FormatError
from gapless.recordings.importers.size_limits import MAX_ARRAY_BYTES

MAGIC, CHUNK = 8, 0x06
MOST, FLOOR = 500, 8 << 20
"""Messages cost far more time and memory than their bytes, so the ratio of all chunks to the file,
and the size from which it counts, are lower than for arrays."""


def refuse_bomb(path: Path) -> None:
    """Refuse a file whose chunks would expand absurdly; one that is cut short is let through.

    Raises:
        FormatError: before anything is decompressed.
    """
    stored, expanded = path.stat().st_size, 0
    with path.open("rb") as file:
        for stated, real in _chunks(file, stored):
            expanded += max(stated, real)
            if expanded > MAX_ARRAY_BYTES or (expanded > FLOOR and expanded > MOST * stored):
                raise FormatError(
                    f"{path} expands {stored} bytes to {expanded} and more (above {MOST} times): "
                    "a decompression bomb, not a log"
                )


def _chunks(file: BinaryIO, stored: int) -> Iterator[tuple[int, int]]:
    """Bytes of every chunk once decompressed: as its header and as its own data say."""
    at = MAGIC
    while at + 9 <= stored:
        file.seek(at)
        opcode, length = struct.unpack("<BQ", file.read(9))
        if opcode == CHUNK and at + 9 + 32 <= stored:
            stated, _, name = struct.unpack("<QII", file.read(32)[16:])
            compression = file.read(min(name, 16))
            file.seek(at + 9 + 32 + name + 8)
            yield stated, _content(compression, file.read(18))
        at += 9 + length


def _content(compression: bytes, head: bytes) -> int:
    """Size that a zstd frame states of itself; 0 where it states none, or is another kind."""
    if compression != b"zstd":
        return 0
    import zstandard

    try:
        return max(0, zstandard.frame_content_size(head))
    except zstandard.ZstdError:
        return 0  # damaged: the reader says so
