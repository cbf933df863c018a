"""A robot in a folder of its own: every figure and file, so that it is the same elsewhere."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json, staged, write_json
from gapless.errors import FormatError
from gapless.field_kinds import wrong_fields
from gapless.robots.inertia import Floor, Inertia
from gapless.robots.joints import Alias, Joints, TrackingPoint
from gapless.robots.mjcf import Mjcf
from gapless.robots.payload import Payload
from gapless.robots.robot import Robot
from gapless.robots.simple_feet import SimpleFoot
from gapless.robots.tree import Hinge, Link, Shape, Tree
from gapless.robots.xmlfiles import Files

FORMAT = "gapless robot 1"
FILE = "robot.json"
PARTS = (
    Robot,
    Joints,
    Alias,
    TrackingPoint,
    Payload,
    Inertia,
    Floor,
    Mjcf,
    Files,
    Tree,
    Link,
    Hinge,
    Shape,
    SimpleFoot,
)
KNOWN = {part.__name__: part for part in PARTS}
"""All that a robot is made of; a file can name nothing else."""


def save_robot(robot: Robot, folder: str | Path, overwrite: bool = False) -> None:
    """Write the robot; complete or absent."""
    with staged(folder, overwrite) as path:
        blobs: list[bytes] = []
        write_json(path / FILE, {"format": FORMAT, "robot": _written(robot, blobs)})
        for k, blob in enumerate(blobs):
            (path / f"{k}.bin").write_bytes(blob)


def load_robot(folder: str | Path) -> Robot:
    """Read what `save_robot` wrote."""
    folder = Path(folder)
    data = read_json(folder / FILE)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatError(f"{folder} holds no robot of this version ({FORMAT!r})")
    try:
        robot = _read(data["robot"], folder)
        wrong = [] if isinstance(robot, Robot) else ["it holds no robot"]
        wrong += list(wrong_fields(robot, KNOWN)) if not wrong else []
    except (KeyError, TypeError, ValueError, OSError, RecursionError) as error:
        raise FormatError(f"{folder / FILE} is damaged: {error!r}") from error
    if wrong:
        raise FormatError(f"{folder / FILE} is damaged: {'; '.join(wrong)}")
    return robot


def _written(value: Any, blobs: list[bytes]) -> Any:
    """Plain JSON; what JSON has no word for is a dictionary with the key "="."""
    if is_dataclass(value):
        values = {f.name: _written(getattr(value, f.name), blobs) for f in fields(value)}
        return {"=": type(value).__name__, **values}
    if isinstance(value, bytes):
        blobs.append(value)
        return {"=": "bytes", "file": f"{len(blobs) - 1}.bin"}
    if isinstance(value, np.ndarray):
        return {"=": "array", "of": _written(value.tolist(), blobs)}
    if isinstance(value, dict):
        return {"=": "dict", "of": [[k, _written(v, blobs)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_written(v, blobs) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"=": "float", "of": str(value)}
    return value


def _read(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return tuple(_read(v, folder) for v in value)
    if not isinstance(value, dict):
        return value
    kind = value["="]
    if kind == "bytes":
        return (folder / Path(value["file"]).name).read_bytes()
    if kind == "array":
        return np.array(_read(value["of"], folder))
    if kind == "dict":
        return {k: _read(v, folder) for k, v in value["of"]}
    if kind == "float":
        return float(value["of"])
    return KNOWN[kind](**{k: _read(v, folder) for k, v in value.items() if k != "="})
