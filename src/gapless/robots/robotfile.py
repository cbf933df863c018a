"""A user's robot file: a small TOML next to an MJCF or URDF that says what the model cannot.

model = "robot.xml"          # MJCF or URDF, relative to this file; the only key that is needed
rate = 50                    # also: name, title, root, mount, unactuated, meshes, folder,
[gains]                      # self_collision, height, action_scale, feet ("own" or "hull")
"*_knee_*" = [100, 2]        # kp, kd; patterns also in effort, velocity, armature, damping,
[aliases]                    # frictionloss, link_groups and joint_groups
motor_3 = { joint = "left_knee_joint", sign = -1, offset = 0.1 }
[default]
left_knee_joint = 0.3
[end_effectors]
tool = { body = "hand", offset = [0, 0, 0.1] }
[floor]                      # what a robot that is held may touch: its table; also friction,
height = -0.05               # softness, tilt_x, tilt_y
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from gapless.errors import FormatError, ModelError
from gapless.robots.builtin import expand
from gapless.robots.drives import NeedsOptionsError
from gapless.robots.joints import Joints
from gapless.robots.mjcf import read_mjcf
from gapless.robots.robotfile_entries import (
    FIGURES,
    alias,
    floor,
    point,
    wrong_entries,
    wrong_floor,
    wrong_names,
)
from gapless.robots.urdf import read_urdf
from gapless.toml_file import load_toml

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

    Returns:
        Fields of `Robot`, and "feet", where the file says which it stands on.

    Raises:
        FormatError: the file is not TOML, or keys or values are wrong; all are listed.
        ModelError: it names joints or links that the model lacks; all are listed.
    """
    table = _parse(path)
    wrong = [*wrong_entries(table, path, tuple(READERS)), *wrong_floor(table.get("floor"))]
    _refuse(FormatError, path, wrong)
    model = path.parent / table["model"]
    read = partial(READERS[model.suffix.lower()], model, **_source(table, path))
    bare = read(gains={"*": (1.0, 0.0)}, unactuated="passive")
    _refuse(ModelError, path, wrong_names(table, bare["joints"].names, bare["body"].names))
    try:
        values = read(**{k: table[k] for k in ("gains", "default", "unactuated") if k in table})
    except NeedsOptionsError as error:
        raise ModelError(f"{path}: {error}\n{recipe(model)}") from error
    feet = {"feet": table["feet"]} if "feet" in table else {}
    return values | _fields(table, values["joints"], values["body"].names) | feet


def _source(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The options that decide which part of which files is the robot."""
    options = {key: table[key] for key in ("root", "meshes") if key in table}
    folder = {"folder": path.parent / table["folder"]} if "folder" in table else {}
    return {"name": table.get("name", path.stem), **options, **folder}


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
    return load_toml(path)


def _refuse(kind: type[FormatError | ModelError], path: Path, problems: Iterable[str]) -> None:
    lines = [f"\n  {problem}" for problem in problems]
    if lines:
        raise kind(f"{path} cannot be used:{''.join(lines)}")


def _fields(table: Mapping[str, Any], joints: Joints, links: tuple[str, ...]) -> dict[str, Any]:
    """The fields of Robot that the file gives directly."""
    used = defaultdict(dict, table)
    groups = {k: expand(g, joints.names) for k, g in used["joint_groups"].items()}
    figures = {key: _by_joint(table[key], joints.names) for key in FIGURES if key in table}
    return {
        **{key: table[key] for key in FIELDS if key in table},
        **({"floor": floor(table["floor"])} if "floor" in table else {}),
        "joints": joints.with_values(**figures),
        "aliases": {k: alias(v) for k, v in used["aliases"].items()},
        "end_effectors": tuple(point(k, v) for k, v in used["end_effectors"].items()),
        "link_groups": {k: expand(g, links) for k, g in used["link_groups"].items()},
        # A listed joint may have been locked, and is then no joint of the robot.
        "joint_groups": {k: tuple(j for j in g if j in joints.names) for k, g in groups.items()},
    }


def _by_joint(figures: Mapping[str, float], joints: tuple[str, ...]) -> dict[str, float]:
    pairs = ((j, pattern) for pattern in figures for j in joints if fnmatchcase(j, pattern))
    return {joint: float(figures[pattern]) for joint, pattern in pairs}
