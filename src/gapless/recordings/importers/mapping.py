"""The mapping file of the generic formats: which column is what, in a few lines of TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any, get_args

from gapless.errors import FormatError, nearest
from gapless.recordings.conditions import Conditions
from gapless.recordings.importers import ReadOptions
from gapless.recordings.rawlog import AngleUnit, Pairing, TimeUnit
from gapless.robots.payload import Payload

CHOICES = {
    "time_unit": get_args(TimeUnit),
    "angle_unit": get_args(AngleUnit),
    "pairing": get_args(Pairing),
    "quat_order": ("wxyz", "xyzw"),
}
CONDITIONS = ("unit", "mount", "payloads", "gains", "held", "extra")


def read_mapping(options: ReadOptions, allowed: Iterable[str], example: str) -> dict[str, Any]:
    """Read the mapping file and refuse keys and values that nothing understands.

    Raises:
        FormatError: no file was given, it is not TOML, or it names something unknown.
    """
    path = options.mapping
    if path is None or not path.is_file():
        raise FormatError(f"this format needs a mapping file (given: {path}), such as: {example}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a TOML file: {error}") from error
    problems = [*_keys(content, list(allowed)), *_choices(content)]
    problems += [f"conditions.{p}" for p in _keys(content.get("conditions", {}), list(CONDITIONS))]
    if problems:
        raise FormatError(f"{path}: " + "; ".join(problems))
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


def conditions_of(content: dict[str, Any], where: str) -> Conditions:
    """The `[conditions]` table: unit, mount, payloads (kg by link), gains ([kp, kd] by joint)."""
    table = dict(content.get("conditions", {}))
    try:
        if "payloads" in table:
            table["payloads"] = {link: Payload(float(m)) for link, m in table["payloads"].items()}
        if "gains" in table:
            table["gains"] = {j: (float(kp), float(kd)) for j, (kp, kd) in table["gains"].items()}
        return Conditions(**table)
    except (TypeError, ValueError, AttributeError) as error:
        raise FormatError(
            f"{where}: [conditions] is not understood ({error}); payloads are kilograms by link "
            "(payloads = {hand = 1.5}), gains are [kp, kd] by joint"
        ) from error
