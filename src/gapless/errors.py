"""Errors a user can act on: what was wrong, what was expected, what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GaplessError(Exception):
    """Root of every error this package raises for a user's input."""


class FormatError(GaplessError):
    """A file is not what it claims to be, is truncated, or would run code."""


class NameMismatchError(GaplessError):
    """A robot, joint, link, group or option was named that does not exist."""


class DataError(GaplessError):
    """A recording's content cannot be used: time, units, order or coverage."""


class ArtifactError(GaplessError):
    """An artifact cannot be published: it exists, or the disk refuses it."""


class ModelError(GaplessError):
    """A robot model cannot be built or simulated as described."""


class SimulationError(GaplessError):
    """A world was asked for something it cannot do, or gave no usable result."""


class SafetyError(GaplessError):
    """A robot must not be started, or moved, as things are."""


class MissingExtraError(GaplessError):
    """An optional dependency is needed for this input."""

    def __init__(self, package: str, extra: str, why: str) -> None:
        super().__init__(f"{why} needs {package!r}: pip install 'gapless[{extra}]'")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a ' Did you mean ...?' hint, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown(kind: str, name: str, known: Iterable[str]) -> NameMismatchError:
    """Build the error for a name that does not exist, listing those that do."""
    known = list(known)
    return NameMismatchError(
        f"unknown {kind} {name!r}.{nearest(name, known)} Known: {', '.join(known)}"
    )
