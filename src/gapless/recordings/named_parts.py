"""Recordings by name: which teach and which test, where a user says so by patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TypeGuard, cast

from gapless.errors import DataError
from gapless.recordings.recording import Recording, Recordings

NAMED = 5
"""Recordings that a note names."""


def is_patterns(test: Recordings | Sequence[str] | float) -> TypeGuard[tuple[str, ...] | list[str]]:
    """Whether what tests is said by patterns of names."""
    if isinstance(test, int | float):
        return False
    return bool(len(test)) and isinstance(test[0], str)


def named_parts(
    recordings: Sequence[Recording],
    learn: Sequence[str],
    test: Recordings | Sequence[str] | float,
) -> tuple[list[Recording], Recordings | float, list[str]]:
    """What is learned from and chosen by, what tests, and what to say of the rest.

    Args:
        recordings: all of them.
        learn: patterns of names; none is every recording that does not test.
        test: patterns of names, or what it was (a share, recordings); with patterns of what is
            learned from and a share, all others test.

    Raises:
        DataError: a pattern fits no name, or a recording is named by both.
    """
    tested = test if is_patterns(test) else ()
    _refuse_unknown(recordings, (*learn, *tested))
    teaches = [r for r in recordings if named(r.name, learn)]
    tests = [r for r in recordings if named(r.name, tested)]
    both = {r.name for r in teaches} & {r.name for r in tests}
    if both:
        raise DataError(
            f"{_listed(sorted(both))} would both teach and test; give patterns that part them"
        )
    if is_patterns(test):
        teaches = teaches if learn else _without(recordings, tests)
        return teaches, tests, _left_out(recordings, [*teaches, *tests])
    given = cast("Recordings | float", test)
    if not learn:
        return list(recordings), given, []
    others = _without(recordings, teaches) if isinstance(given, int | float) else given
    return teaches, others if len(others) else 0.0, []


def _without(recordings: Sequence[Recording], used: Sequence[Recording]) -> list[Recording]:
    known = {id(r) for r in used}
    return [r for r in recordings if id(r) not in known]


def named(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _refuse_unknown(recordings: Sequence[Recording], patterns: Iterable[str]) -> None:
    there = list(dict.fromkeys(r.name for r in recordings))
    empty = [p for p in patterns if not any(fnmatchcase(name, p) for name in there)]
    if empty:
        raise DataError(f"no motion is named as {', '.join(empty)}; there are: {', '.join(there)}")


def _left_out(recordings: Sequence[Recording], used: Sequence[Recording]) -> list[str]:
    names = list(dict.fromkeys(r.name for r in _without(recordings, used)))
    if not names:
        return []
    return [f"named neither to learn from nor to test on, and left out: {_listed(names)}"]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
