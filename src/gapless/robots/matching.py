"""Log names to robot joints: by name, never by position in an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gapless.errors import NameMismatchError, unknown
from gapless.robots.joints import Alias


def match(
    names: Sequence[str],
    joints: Sequence[str],
    aliases: Mapping[str, Alias],
    locked: Iterable[str] = (),
) -> list[Alias]:
    """Find the robot joint that each log name means.

    A name is taken as it is, then as an alias, then without regard to case and to a missing or
    added "_joint".

    Returns:
        One alias a name: the joint, and the sign and offset that turn log angles into its own.
    """
    table = {joint: Alias(joint) for joint in (*joints, *locked)} | dict(aliases)
    loose = {_loose(name): alias for name, alias in reversed(table.items())}
    found = [_find(name, table, loose) for name in names]
    _refuse_locked(names, found, set(locked))
    _refuse_doubles(names, found)
    return found


def _loose(name: str) -> str:
    return name.strip().lower().removesuffix("_joint")


def _find(name: str, table: Mapping[str, Alias], loose: Mapping[str, Alias]) -> Alias:
    alias = table.get(name) or loose.get(_loose(name))
    if alias is None:
        raise unknown("joint", name, table)
    return alias


def _refuse_locked(names: Sequence[str], found: Sequence[Alias], locked: set[str]) -> None:
    fixed = [name for name, alias in zip(names, found, strict=True) if alias.joint in locked]
    if fixed:
        raise NameMismatchError(
            f"the log moves joints that this robot has locked: {', '.join(fixed)}. "
            "Load the robot without locking them, or drop those columns"
        )


def _refuse_doubles(names: Sequence[str], found: Sequence[Alias]) -> None:
    seen: dict[str, str] = {}
    for name, alias in zip(names, found, strict=True):
        if alias.joint in seen:
            raise NameMismatchError(
                f"{seen[alias.joint]!r} and {name!r} both mean joint {alias.joint!r}; "
                "each joint may be logged once"
            )
        seen[alias.joint] = name
