"""A user's robot file: a small TOML next to an MJCF or URDF that says what the model cannot."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gapless.errors import FormatError, ModelError, nearest
from gapless.robots.drives import NeedsOptionsError
from gapless.robots.joints import Alias, TrackingPoint
from gapless.robots.mjcf import read_mjcf
from gapless.robots.tables import expand
from gapless.robots.urdf import read_urdf
from gapless.robots.xmlfiles import read_file

READERS: dict[str, Callable[..., dict[str, Any]]] = {
    ".xml": read_mjcf,
    ".mjcf": read_mjcf,
    ".urdf": read_urdf,
}
Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_numbers(count: int) -> Check:
    return lambda v: isinstance(v, list) and len(v) == count and all(map(_is_number, v))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _one_of(*choices: Any) -> Check:
    return lambda value: value in choices


def _is_alias(value: Any) -> bool:
    checks: dict[str, Check] = {"joint": _is_text, "sign": _one_of(1, -1), "offset": _is_number}
    return _is_text(value) or _is_record(value, checks, "joint")


def _is_point(value: Any) -> bool:
    checks: dict[str, Check] = {"body": _is_text, "offset": _are_numbers(3)}
    return _is_text(value) or _is_record(value, checks, "body")


def _is_record(value: Any, checks: Mapping[str, Check], needed: str) -> bool:
    known = isinstance(value, dict) and needed in value and set(value) <= set(checks)
    return known and all(checks[key](entry) for key, entry in value.items())


PLAIN: dict[str, tuple[Check, str]] = {
    "model": (_is_text, 'a path such as "robot.xml", relative to this file'),
    "folder": (_is_text, "a folder, relative to this file, that holds the model's meshes"),
    "name": (_is_text, "text"),
    "title": (_is_text, "text"),
    "root": (_is_text, "the name of the base link"),
    "mount": (_is_text, '"free", "fixed" or the name of a link'),
    "unactuated": (_one_of("refuse", "lock", "passive"), '"refuse", "lock" or "passive"'),
    "meshes": (_one_of("load", "drop"), '"load" or "drop"'),
    "self_collision": (lambda v: isinstance(v, bool), "true or false"),
    "rate": (lambda v: _is_number(v) and v > 0, "a number above 0, in Hz"),
    "height": (_is_number, "a number, in metres"),
    "action_scale": (_is_number, "a number, in radians"),
}
SECTIONS: dict[str, tuple[Check, str]] = {
    "gains": (_are_numbers(2), "[kp, kd]"),
    "default": (_is_number, "a number, in radians"),
    "aliases": (
        _is_alias,
        '"joint", or { joint = "...", sign = -1, offset = 0.0 } with sign 1, -1',
    ),
    "end_effectors": (_is_point, '"link", or { body = "link", offset = [x, y, z] }'),
    "link_groups": (_are_names, "a list of links or patterns"),
    "joint_groups": (_are_names, "a list of joints or patterns"),
}


def read_robot_file(path: Path) -> dict[str, Any]:
    """The fields of a Robot from a robot file and the model it names.

    Raises:
        FormatError: the file is not TOML, or holds wrong keys or values; all are listed.
        ModelError: it names joints or links that the model lacks; all are listed.
    """
    table = _parse(path)
    _refuse(FormatError, path, _wrong_entries(table, path))
    model, read, options = _reader(table, path)
    bare = read(model, **options, gains={"*": (1.0, 0.0)}, unactuated="passive")
    joints, links = bare["joints"].names, bare["body"].names
    _refuse(ModelError, path, _wrong_names(table, joints, links))
    keep = {k: table[k] for k in ("gains", "default", "unactuated") if k in table}
    try:
        values = read(model, **options, **keep)
    except NeedsOptionsError as error:
        raise ModelError(f"{path}: {error}\n{recipe(model)}") from error
    return {**values, **_fields(table, joints, links)}


def recipe(model: Path) -> str:
    """The robot file that makes a model without gains usable, to be shown in an error."""
    return (
        f"On the command line, say it in a file: write these three lines into {model.stem}.toml, "
        f"next to the model, and use --robot {model.stem}.toml\n"
        f'  model = "{model.name}"\n  [gains]\n  "*" = [100, 2]  # kp, kd by joint or pattern'
    )


def _parse(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FormatError(f"there is no robot file at {path}. {recipe(path.with_suffix('.xml'))}")
    try:
        return tomllib.loads(read_file(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a TOML file: {error}") from error


def _refuse(kind: type[FormatError | ModelError], path: Path, problems: Iterable[str]) -> None:
    problems = list(problems)
    if problems:
        raise kind(f"{path} cannot be used:\n" + "\n".join(f"  {p}" for p in problems))


def _wrong_entries(table: Mapping[str, Any], path: Path) -> Iterator[str]:
    known = (*PLAIN, *SECTIONS)
    if "model" not in table:
        yield 'model is missing: write model = "robot.xml", the path of an MJCF or URDF'
    for key, value in table.items():
        if key in PLAIN and not PLAIN[key][0](value):
            yield f"{key} is {value!r}; it must be {PLAIN[key][1]}"
        elif key in SECTIONS:
            yield from _wrong_section(key, value)
        elif key not in known:
            yield f"unknown key {key!r}.{nearest(key, known)} Known: {', '.join(known)}"
    model = table.get("model")
    if isinstance(model, str):
        yield from _wrong_model(path.parent / model, "meshes" in table)


def _wrong_section(key: str, section: Any) -> Iterator[str]:
    check, expected = SECTIONS[key]
    if not isinstance(section, dict):
        yield f"{key} is {section!r}; it must be a section: [{key}], then lines of name = {expected}"
        return
    for name, value in section.items():
        if not check(value):
            yield f"{key}.{name} is {value!r}; it must be {expected}"


def _wrong_model(model: Path, meshes: bool) -> Iterator[str]:
    suffix = model.suffix.lower()
    if suffix not in READERS:
        yield f"model is {model.name!r}; it must end in {', '.join(READERS)}"
    elif not model.is_file():
        yield f"there is no model at {model}; the path is relative to this file"
    elif meshes and suffix != ".urdf":
        yield "meshes is for URDF only; an MJCF's meshes are always loaded"


def _reader(
    table: Mapping[str, Any], path: Path
) -> tuple[Path, Callable[..., dict[str, Any]], dict[str, Any]]:
    """The model, its reader, and the options that decide how its file is read."""
    model = path.parent / table["model"]
    options = {k: table[k] for k in ("root", "meshes") if k in table}
    options["name"] = table.get("name", path.stem)
    if "folder" in table:
        options["folder"] = path.parent / table["folder"]
    return model, READERS[model.suffix.lower()], options


def _wrong_names(
    table: Mapping[str, Any], joints: tuple[str, ...], links: tuple[str, ...]
) -> Iterator[str]:
    mount = table.get("mount", "fixed")
    places = ("free", "fixed", "left_foot", "right_foot")
    named = {
        "joint": {
            "gains": table.get("gains", {}),
            "default": table.get("default", {}),
            "aliases": [_record(a, "joint")["joint"] for a in table.get("aliases", {}).values()],
            "joint_groups": [j for g in table.get("joint_groups", {}).values() for j in g],
        },
        "link": {
            "mount": [] if mount in places else [mount],
            "end_effectors": [
                _record(p, "body")["body"] for p in table.get("end_effectors", {}).values()
            ],
            "link_groups": [link for g in table.get("link_groups", {}).values() for link in g],
        },
    }
    for kind, known in (("joint", joints), ("link", links)):
        for key, names in named[kind].items():
            patterns = key in ("gains", "joint_groups", "link_groups")
            for name in names:
                if name in known or (patterns and any(fnmatchcase(k, name) for k in known)):
                    continue
                yield f"{key}: unknown {kind} {name!r}.{nearest(name, known)} Known: {known}"


def _record(value: Any, key: str) -> dict[str, Any]:
    return {key: value} if isinstance(value, str) else value


def _fields(
    table: Mapping[str, Any], joints: tuple[str, ...], links: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of Robot that the file gives directly."""
    aliases = {k: Alias(**_record(v, "joint")) for k, v in table.get("aliases", {}).items()}
    points = {k: _record(v, "body") for k, v in table.get("end_effectors", {}).items()}
    plain = ("title", "rate", "mount", "self_collision", "height", "action_scale")
    return {
        **{k: table[k] for k in plain if k in table},
        "aliases": aliases,
        "link_groups": {k: expand(g, links) for k, g in table.get("link_groups", {}).items()},
        "joint_groups": {k: expand(g, joints) for k, g in table.get("joint_groups", {}).items()},
        "end_effectors": tuple(
            TrackingPoint(k, p["body"], tuple(p.get("offset", (0.0, 0.0, 0.0))))
            for k, p in points.items()
        ),
    }
