"""Errors a user can act on: what was wrong, what was expected, what to do next."""

from __future__ import annotations

import difflib
import errno
import math
from collections.abc import Iterable
from numbers import Integral, Real

NO_MEMORY = (
    *("launch worker thread", "start new thread"),
    *("failed to map segment", "Could not allocate memory"),
)
"""What libraries say, in errors of no class of their own, when memory is too short."""


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


class TaskError(GaplessError):
    """Some of many tasks failed by their own fault; what the others made is kept."""


class WorkerError(GaplessError):
    """A machine that did a task was lost, or cannot do it; what is finished is kept."""


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


def lacks_memory(error: Exception) -> bool:
    """Whether an error says no more than that the machine's memory is used up."""
    full = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return full or isinstance(error, MemoryError) or any(t in str(error) for t in NO_MEMORY)


def require_number(
    name: str, value: object, *, least: float | None = None, above: float = 0.0
) -> None:
    """Refuse what is not a finite number within its bound; whole where the least one is."""
    kind, wanted = (Integral, "a whole number") if isinstance(least, int) else (Real, "a number")
    bound = f"above {above:g}" if least is None else f"of {least:g} or more"
    number = value if isinstance(value, kind) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or (number <= above if least is None else number < least):
        raise GaplessError(f"{name} is {value!r}; expected {wanted} {bound}")
