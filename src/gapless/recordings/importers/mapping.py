"""The mapping file of the generic formats: which column is what, in a few lines of TOML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from gapless.errors import FormatError, nearest
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.importers.checking import check_conditions
from gapless.recordings.importers.named_arrays import positive
from gapless.recordings.preparation.trimming import trim_problem
from gapless.recordings.rawlog import AngleUnit, Pairing, TimeUnit, Trim
from gapless.robots.payload import Payload
from gapless.toml_file import load_toml

CHOICES = {
    "time_unit": get_args(TimeUnit),
    "angle_unit": get_args(AngleUnit),
    "pairing": get_args(Pairing),
    "quat_order": ("wxyz", "xyzw"),
}
CONDITIONS = ("unit", "mount", "payloads", "gains", "held", "extra")
TEXTS = ("time", "state_topic", "command_topic")


def read_mapping(options: ReadOptions, allowed: Iterable[str], example: str) -> dict[str, Any]:
    """Read the mapping file and refuse keys and values that nothing understands.

    Raises:
        FormatError: no file was given, it is not TOML, or it names something unknown.
    """
    path = options.mapping
    if path is None or not path.is_file():
        raise FormatError(f"this format needs a mapping file (given: {path}), such as: {example}")
    content = load_toml(path)
    problems = [*_keys(content, list(allowed)), *_choices(content), *_types(content)]
    conditions = content.get("conditions", {})
    if isinstance(conditions, dict):
        problems += [f"conditions.{p}" for p in _keys(conditions, list(CONDITIONS))]
    else:
        problems.append(f"conditions is {conditions!r}; a table was expected: [conditions]")
    if problems:
        raise FormatError(f"{path}: " + "; ".join(problems))
    if "rate" in content:
        positive(content["rate"], f"{path}: rate")
    return content


def _keys(content: dict[str, Any], allowed: list[str]) -> list[str]:
    return [
        f"{key!r} is not a key of the mapping.{nearest(key, allowed)} Known: {', '.join(allowed)}"
        for key in content
        if key not in allowed
    ]


def _choices(content: dict[str, Any]) -> list[str]:
    return [
        f"{key} is {content[key]!r}; expected one of {', '.join(known)}"
        for key, known in CHOICES.items()
        if key in content and content[key] not in known
    ]


def _types(content: dict[str, Any]) -> list[str]:
    wrong = [
        f"{key} is {content[key]!r}; text was expected"
        for key in TEXTS
        if not isinstance(content.get(key, ""), str)
    ]
    joints = content.get("joints", [])
    if not isinstance(joints, list) or not all(isinstance(name, str) for name in joints):
        wrong.append(f"joints is {joints!r}; a list of names was expected")
    elif len(set(joints)) < len(joints):
        wrong.append(f"joints names one twice: {joints}")
    return wrong


def trim_of(content: dict[str, Any], where: str) -> Trim | None:
    """The stretch of each log between `start` and `end`, s; None where neither is given.

    Raises:
        FormatError: they are no numbers, or no stretch.
    """
    if "start" not in content and "end" not in content:
        return None
    start, end = content.get("start", 0.0), content.get("end", 0.0)
    if any(not isinstance(x, int | float) or isinstance(x, bool) for x in (start, end)):
        raise FormatError(f"{where}: start is {start!r} and end {end!r}; seconds were expected")
    if problem := trim_problem((start, end)):
        raise FormatError(f"{where}: start and end: {problem}")
    return float(start), float(end)


def conditions_of(content: dict[str, Any], where: str) -> Conditions:
    """The `[conditions]` table: unit, mount, payloads (kg by link), gains ([kp, kd] by joint).

    Raises:
        FormatError: a condition has the wrong type.
    """
    table = dict(content.get("conditions", {}))
    try:
        if "payloads" in table:
            table["payloads"] = {link: Payload(float(m)) for link, m in table["payloads"].items()}
        if "gains" in table:
            table["gains"] = {j: (float(kp), float(kd)) for j, (kp, kd) in table["gains"].items()}
        conditions = Conditions(**table)
    except (TypeError, ValueError, AttributeError) as error:
        raise FormatError(
            f"{where}: [conditions] is not understood ({error}); payloads are kilograms by link "
            "(payloads = {hand = 1.5}), gains are [kp, kd] by joint"
        ) from error
    check_conditions(conditions, where)
    return conditions
