"""A user's robot file: a small TOML next to an MJCF or URDF that says what the model cannot."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gapless.errors import FormatError, ModelError
from gapless.robots.drives import NeedsOptionsError
from gapless.robots.mjcf import read_mjcf
from gapless.robots.robotfile_entries import alias, point, wrong_entries, wrong_names
from gapless.robots.tables import expand
from gapless.robots.urdf import read_urdf

READERS = {".xml": read_mjcf, ".mjcf": read_mjcf, ".urdf": read_urdf}
FIELDS = ("title", "rate", "mount", "self_collision", "height", "action_scale")


def read_path(path: Path) -> dict[str, Any]:
    """The fields of a Robot from a robot file, or from a model that says everything itself."""
    if path.suffix.lower() == ".toml":
        return read_robot_file(path)
    try:
        return READERS[path.suffix.lower()](path)
    except NeedsOptionsError as error:
        raise ModelError(f"{error}\n{recipe(path)}") from error


def read_robot_file(path: Path) -> dict[str, Any]:
    """The fields of a Robot from a robot file and the model it names.

    Raises:
        FormatError: the file is not TOML, or keys or values are wrong; all are listed.
        ModelError: it names joints or links that the model lacks; all are listed.
    """
    table = _parse(path)
    _refuse(FormatError, path, wrong_entries(table, path, tuple(READERS)))
    model = path.parent / table["model"]
    options = {k: table[k] for k in ("root", "meshes") if k in table}
    options["name"] = table.get("name", path.stem)
    if "folder" in table:
        options["folder"] = path.parent / table["folder"]
    read = READERS[model.suffix.lower()]
    bare = read(model, **options, gains={"*": (1.0, 0.0)}, unactuated="passive")
    _refuse(ModelError, path, wrong_names(table, bare["joints"].names, bare["body"].names))
    options |= {k: table[k] for k in ("gains", "default", "unactuated") if k in table}
    try:
        values = read(model, **options)
    except NeedsOptionsError as error:
        raise ModelError(f"{path}: {error}\n{recipe(model)}") from error
    return values | _fields(table, values["joints"].names, values["body"].names)


def recipe(model: Path) -> str:
    """The robot file that makes a model without gains usable, to be shown in an error."""
    return (
        f"Or say it in a file: write three lines into {model.stem}.toml, next to the model, and "
        f"use {model.stem}.toml as the robot:\n"
        f'  model = "{model.name}"\n  [gains]\n  "*" = [100, 2]  # kp, kd by joint or pattern'
    )


def _parse(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FormatError(f"there is no robot file at {path}")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not a TOML file: {error}") from error


def _refuse(kind: type[FormatError | ModelError], path: Path, problems: Iterable[str]) -> None:
    lines = [f"\n  {problem}" for problem in problems]
    if lines:
        raise kind(f"{path} cannot be used:{''.join(lines)}")


def _fields(
    table: Mapping[str, Any], joints: tuple[str, ...], links: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of Robot that the file gives directly."""
    used = defaultdict(dict, table)
    groups = {k: expand(g, joints) for k, g in used["joint_groups"].items()}
    return {
        **{key: table[key] for key in FIELDS if key in table},
        "aliases": {k: alias(v) for k, v in used["aliases"].items()},
        "end_effectors": tuple(point(k, v) for k, v in used["end_effectors"].items()),
        "link_groups": {k: expand(g, links) for k, g in used["link_groups"].items()},
        "joint_groups": {k: tuple(j for j in g if j in joints) for k, g in groups.items()},
    }
