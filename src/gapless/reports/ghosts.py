"""Which robot of a clip is drawn solid, and which are ghosts."""

from __future__ import annotations

from collections.abc import Iterable

from gapless.measurement.side_by_side import REAL


def solid_of(tracks: Iterable[str]) -> str:
    """What was real; where nothing was recorded, the last simulator: the one that knows most."""
    names = list(tracks)
    return REAL if REAL in names else names[-1]


def ghosts_of(tracks: Iterable[str]) -> dict[str, int]:
    """Track -> 0 for the solid robot, which comes first, then 1, 2, ... for ghosts."""
    names = list(tracks)
    solid = solid_of(names)
    return {name: k for k, name in enumerate([solid, *(n for n in names if n != solid)])}
