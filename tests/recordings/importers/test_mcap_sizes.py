"""MCAP files that would become a thousand times as large are refused before they are read."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import log_writers as writers
from gapless.errors import FormatError
from gapless.recordings.importers.mcap_messages import read_tracks
from gapless.recordings.importers.mcap_sizes import refuse_bomb

zstandard = pytest.importorskip("zstandard")
MAGIC = bytes((137, 77, 67, 65, 80, 48, 13, 10))


def chunk(data: bytes, stated: int, compression: bytes = b"zstd") -> bytes:
    """A chunk record around compressed data."""
    head = struct.pack("<QQQII", 0, 1, stated, 0, len(compression)) + compression
    body = head + struct.pack("<Q", len(data)) + data
    return struct.pack("<BQ", 6, len(body)) + body


def message() -> bytes:
    """The smallest message record there is."""
    return struct.pack("<BQHIQQ", 5, 22, 1, 0, 0, 0)


@pytest.mark.parametrize("honest", [True, False])
def test_chunks_of_many_small_messages_are_refused(honest: bool, tmp_path: Path) -> None:
    """Whether the chunk states its size, or only its data do."""
    plain = message() * 500_000
    data = zstandard.ZstdCompressor(level=19).compress(plain)
    (tmp_path / "a.mcap").write_bytes(MAGIC + chunk(data, len(plain) if honest else 100))
    assert (tmp_path / "a.mcap").stat().st_size < 16_000
    with pytest.raises(FormatError, match="decompression bomb"):
        read_tracks(tmp_path / "a.mcap")


def test_many_small_chunks_are_counted_together(tmp_path: Path) -> None:
    """Each alone would pass."""
    plain = message() * 30_000
    data = zstandard.ZstdCompressor(level=19).compress(plain)
    (tmp_path / "a.mcap").write_bytes(MAGIC + 20 * chunk(data, len(plain)))
    with pytest.raises(FormatError, match="decompression bomb"):
        refuse_bomb(tmp_path / "a.mcap")


def test_ordinary_files_and_those_cut_short_are_let_through(tmp_path: Path) -> None:
    """What is wrong with the latter the reader says."""
    path = writers.write_mcap(tmp_path / "a.mcap", writers.joint_states("/joint_states", 50))
    refuse_bomb(path)
    whole = path.read_bytes()
    assert len(next(iter(read_tracks(path)[0].values()))) == 50
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        refuse_bomb(path)
