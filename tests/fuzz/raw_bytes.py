"""Damage to bytes and to text, whatever the file means."""

from __future__ import annotations

import re

import numpy as np

from fuzz.trees import NUMBERS, TEXTS

NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def damaged_bytes(good: bytes, random: np.random.Generator) -> bytes:
    """Cut short, flipped, or with a stretch dropped, doubled, moved or blanked."""
    data = bytearray(good)
    start, length = int(random.integers(len(data) or 1)), int(random.integers(1, 64))
    piece = data[start : start + length]
    kind = random.integers(6)
    if kind == 0:
        del data[start:]
    elif kind == 1:
        for at in random.integers(len(data) or 1, size=random.integers(1, 6)):
            data[at : at + 1] = bytes([int(random.integers(256))])
    elif kind == 2:
        del data[start : start + length]
    elif kind == 3:
        data[start:start] = piece * int(random.integers(1, 4))
    elif kind == 4:
        to = int(random.integers(len(data) or 1))
        data[to : to + length] = piece
    else:
        data[start : start + length] = bytes(len(piece))
    return bytes(data)


def damaged_text(good: bytes, random: np.random.Generator) -> bytes:
    """A number, a word or a line replaced, dropped or doubled."""
    text, kind = good.decode("utf-8", "replace"), random.integers(4)
    if kind < 2:
        spots = list(NUMBER.finditer(text)) if kind == 0 else list(re.finditer(r"\w+", text))
        if not spots:
            return damaged_bytes(good, random)
        spot = spots[random.integers(len(spots))]
        odd = NUMBERS if kind == 0 else TEXTS
        text = text[: spot.start()] + str(odd[random.integers(len(odd))]) + text[spot.end() :]
    else:
        lines = text.splitlines(keepends=True) or [""]
        line = int(random.integers(len(lines)))
        other = int(random.integers(len(lines)))
        if kind == 2:
            del lines[line]
        else:
            lines.insert(other, lines[line])
        text = "".join(lines)
    return text.encode("utf-8", "surrogatepass")
