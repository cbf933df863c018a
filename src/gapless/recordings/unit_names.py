"""Individual robots: whose recordings teach, and whose test."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gapless.errors import DataError
from gapless.recordings.recording import Recording, Recordings


def unit(recording: Recording) -> str:
    """The individual robot."""
    return recording.conditions.unit or "unknown"


def units_of(parts: Mapping[str, Recordings]) -> dict[str, tuple[str, ...]]:
    """Part -> its units."""
    return {part: tuple(sorted({unit(r) for r in own})) for part, own in parts.items()}


def require_units(recordings: Sequence[Recording]) -> None:
    """Refuse recordings of which some do not say their unit."""
    silent = sum(r.conditions.unit is None for r in recordings)
    if silent:
        raise DataError(
            f"{silent} of {len(recordings)} recordings do not say their unit, so a split by unit "
            "could leak; split by motion, or import with the unit stated (--unit)"
        )


def no_such_units(units: Collection[str], recordings: Recordings) -> DataError:
    """With the units that there are."""
    known = sorted({unit(r) for r in recordings})
    return DataError(
        f"units {', '.join(sorted(units))} leave nothing to learn from or to test on; the "
        f"recordings are of units {', '.join(known)}"
    )
