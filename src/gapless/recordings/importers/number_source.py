"""Where a number of a log comes from: its mapping, a column, a fact of the file, or its name."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError, nearest
from gapless.recordings.importers.columns import Columns
from gapless.recordings.importers.size_limits import MAX_TEXT_BYTES, check_file, reading

VALUE = "{value}"
NUMBER = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
PLACES = ("column", "scalar", "name")
STEADY = 1e-6
"""Share of its size by which a gain may change in a log and still be one gain."""


@dataclass(frozen=True)
class LogFile:
    """One file of a source, while it is read.

    Attributes:
        path: the file.
        table: its columns and facts.
        joints: of the log, in the order of its columns.
        rows: (T,) which of its rows are kept; None is all.
    """

    path: Path
    table: Columns
    joints: tuple[str, ...]
    rows: np.ndarray | None = None


@dataclass(frozen=True)
class NumberSource:
    """A number for each joint of a log: `scale` times what is found.

    Attributes:
        value: the number itself.
        column: a column that holds it in every row; {joint} stands for the joint's name.
        scalar: an array, attribute or metadata entry of the file, or an entry of the JSON file
            of the same name beside it; a dot leads into JSON.
        name: a pattern of the file's name in which {value} is the number.
        scale: what one unit of it is.
    """

    value: float | None = None
    column: str | None = None
    scalar: str | None = None
    name: str | None = None
    scale: float = 1.0

    @classmethod
    def of(cls, entry: Any, what: str) -> NumberSource:
        """Understand a mapping's entry: a number, or a table with one place and a scale."""
        if _is_number(entry):
            return cls(float(entry))
        if isinstance(entry, dict) and (place := _place(entry)) is not None:
            return cls(**{place: entry[place]}, scale=float(entry.get("scale", 1.0)))
        raise FormatError(
            f"{what} is {entry!r}; expected a number, {{ column = ... }}, {{ scalar = ... }} or "
            f'{{ name = "kp{VALUE}" }}, each with an optional scale'
        )

    def of_joint(self, joint: str, log: LogFile, steady: bool = True) -> float:
        """The number of one joint.

        Args:
            joint: one of the log's.
            log: the file that is read.
            steady: a column must not change; its median is taken otherwise.

        Raises:
            FormatError: the file does not have it, or it is not one number.
        """
        if self.value is not None:
            return self.value
        if self.name is not None:
            found = _in_name(self.name.replace("{joint}", joint), log.path)
        elif self.scalar is not None:
            found = _scalar(self.scalar.replace("{joint}", joint), joint, log)
        else:
            found = _column((self.column or "").replace("{joint}", joint), joint, log, steady)
        return self.scale * found


def _place(entry: dict[str, Any]) -> str | None:
    """The one place that a table names; None where it is not understood."""
    (place, *others) = [key for key in entry if key != "scale"] or [""]
    fits = not others and place in PLACES and isinstance(entry[place], str)
    if not fits or not _is_number(entry.get("scale", 1.0)):
        return None
    return place if place != "name" or entry[place].count(VALUE) == 1 else None


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _in_name(pattern: str, path: Path) -> float:
    before, _, after = pattern.partition(VALUE)
    found = set(re.findall(re.escape(before) + NUMBER + re.escape(after), path.stem))
    if len(found) == 1:
        return float(found.pop())
    several = f"holds several numbers ({', '.join(sorted(found))})" if found else "has no number"
    raise FormatError(
        f"the file name {path.name!r} {several} where {pattern!r} says; rename the file, or give "
        "a pattern that fits the names of all logs"
    )


def _scalar(name: str, joint: str, log: LogFile) -> float:
    head, _, inner = name.partition(".")
    found = log.table.fact(name)
    found = _inside(log.table.fact(head), inner) if found is None and inner else found
    found = _inside(_beside(log.path), name) if found is None else found
    if isinstance(found, dict):
        found = found.get(joint)
    if found is None:
        known = log.table.names()
        raise FormatError(
            f"{log.path} has no scalar {name!r}, nor has {log.path.stem}.json beside it."
            f"{nearest(name, known)} Its arrays: {', '.join(sorted(known))}"
        )
    return _one(found, joint, log, f"{log.path}: scalar {name!r}")


def _inside(content: Any, keys: str) -> Any:
    """What lies at a dotted path of JSON, or of text that holds JSON."""
    if isinstance(content, str | bytes):
        try:
            content = json.loads(content)
        except ValueError:
            return None
    for key in keys.split("."):
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _beside(path: Path) -> Any:
    """The JSON file of the same name; None where there is none."""
    file = path.with_suffix(".json")
    if not file.is_file():
        return None
    check_file(file, MAX_TEXT_BYTES, "a JSON file")
    with reading(str(file), "a JSON file"):
        return json.loads(file.read_text(encoding="utf-8"))


def _column(name: str, joint: str, log: LogFile, steady: bool) -> float:
    known = log.table.names()
    if name not in known:
        raise FormatError(f"{log.path} has no column {name!r}.{nearest(name, known)}")
    values = log.table.get(name)
    values = values if log.rows is None or len(values) != len(log.rows) else values[log.rows]
    values = values.reshape(len(values), -1)
    column = values[:, log.joints.index(joint) if values.shape[1] > 1 else 0]
    column = column[np.isfinite(column)]
    where = f"{log.path}: column {name!r}"
    if values.shape[1] not in (1, len(log.joints)) or not len(column):
        raise FormatError(f"{where} has {values.shape[1]} columns, of numbers: {len(column)} rows")
    if steady and np.ptp(column) > STEADY * np.abs(column).max():
        at = int(np.argmax(np.abs(column - column[0]) > STEADY * np.abs(column).max()))
        raise FormatError(
            f"{where} changes within the log, from {column[0]:g} to {column[at]:g} at row {at}; a "
            "recording has one gain: keep one stretch (--trim START END, or start and end in the "
            "mapping), or write a file for each gain"
        )
    return float(np.median(column))


def _one(found: Any, joint: str, log: LogFile, where: str) -> float:
    """One number, or that of the joint where there is one for each."""
    try:
        numbers = np.asarray(found if not isinstance(found, bytes) else found.decode(), float)
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        raise FormatError(f"{where} is {str(found)[:60]!r}; a number was expected") from error
    if numbers.size not in (1, len(log.joints)) or not np.isfinite(numbers).all():
        raise FormatError(
            f"{where} holds {numbers.size} numbers; one was expected, or one for each of the "
            f"{len(log.joints)} joints"
        )
    return float(numbers.ravel()[log.joints.index(joint) if numbers.size > 1 else 0])
