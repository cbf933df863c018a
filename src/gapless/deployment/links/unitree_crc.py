"""The checksum in Unitree's messages: CRC-32 over 32-bit words, each from its highest bit."""

from __future__ import annotations

import zlib

import numpy as np

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Bytes with their bits the other way round."""


def word_crc(data: bytes | np.ndarray) -> int:
    """Of little-endian words: start 0xFFFFFFFF, polynomial 0x04C11DB7, nothing inverted at the end.

    zlib computes the mirror image of it, fast: bits go in mirrored, and the result comes back so.
    """
    words = np.frombuffer(data, "<u4").astype(">u4").tobytes()
    mirrored = zlib.crc32(words.translate(_REVERSED)) ^ 0xFFFFFFFF
    return int(f"{mirrored:032b}"[::-1], 2)
