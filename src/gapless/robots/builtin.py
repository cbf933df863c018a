"""Built-in robots, read from our own tables of figures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any

import numpy as np

from gapless.errors import NameMismatchError, unknown
from gapless.robots.joints import Alias, Joints, TrackingPoint
from gapless.robots.rotations import normalise
from gapless.robots.tree import Hinge, Link, Shape, Tree

_FOLDER = resources.files("gapless.robots") / "tables"
_MOTOR_DEFAULTS = {"damping": 0.0, "frictionloss": 0.0, "armature": 0.0, "velocity": np.inf}


def names() -> list[str]:
    """Names of the built-in robots."""
    files = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def read(name: str) -> dict[str, Any]:
    """The keyword arguments of a built-in robot, locks of its table not yet applied.

    Returns:
        Fields of `Robot`, and "lock", the joints (with angles) that the table locks.
    """
    if name not in names():
        raise NameMismatchError(
            f"{unknown('robot', name, names())}. For your own robot give the path of its robot "
            "file (.toml) or model (.xml, .mjcf, .urdf)"
        )
    table = _table(name)
    tree, joints = _tree(table), _joints(table)
    points = _points(table.get("tracking", {"links": ["*"]}), tree)
    return {
        "name": name,
        "title": table["title"],
        "body": tree,
        "joints": joints,
        "root": table["root"],
        "rate": float(table["rate"]),
        "mount": table["mount"],
        "height": table.get("height"),
        "action_scale": table.get("action_scale", 1.0),
        "link_groups": _groups(table.get("link_groups", {}), tree.names),
        "joint_groups": _groups(table.get("joint_groups", {}), joints.names),
        "point_groups": _groups(table.get("point_groups", {}), [p.name for p in points]),
        "tracking": points,
        "end_effectors": _points(table.get("end_effectors", {}), tree),
        "aliases": {k: Alias(*v) for k, v in table.get("aliases", {}).items()},
        "notes": (table["source"],),
        "lock": table.get("lock", {}),
    }


def _table(name: str) -> dict[str, Any]:
    """A table, laid over the one it names as its base."""
    table = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if "base" not in table:
        return table
    base = _table(table["base"])
    drives = {joint: (motor, default) for joint, motor, default in table.pop("drives")}
    # Joints named in `drives` come first, in that order: it is the variant's column order.
    rows = {row[0]: row for row in base["joints"]}
    table["joints"] = [[*rows.pop(j)[:5], *drive] for j, drive in drives.items()] + [*rows.values()]
    return {**base, **table, "motors": base["motors"] | table["motors"]}


def _tree(table: Mapping[str, Any]) -> Tree:
    hinges = {row[1]: Hinge(row[0], _vector(row[2])) for row in table["joints"]}
    links = tuple(
        Link(
            name,
            parent,
            _vector(pos),
            _vector(normalise(quat)),
            mass,
            _vector(com),
            _vector(inertia),
            hinges.get(name),
        )
        for name, parent, pos, quat, mass, com, inertia in table["links"]
    )
    return Tree(links, tuple(_shape(*row) for row in table["shapes"]))


def _shape(
    link: str,
    kind: str,
    size: Iterable[float],
    pos: Iterable[float],
    quat: Iterable[float] = (1, 0, 0, 0),
) -> Shape:
    return Shape(link, kind, _vector(size), _vector(pos), _vector(normalise(np.array([*quat]))))


def _joints(table: Mapping[str, Any]) -> Joints:
    rows = table["joints"]
    motors = [_MOTOR_DEFAULTS | table["motors"][row[5]] for row in rows]
    return Joints(
        names=tuple(row[0] for row in rows),
        lower=np.array([row[3] for row in rows], float),
        upper=np.array([row[4] for row in rows], float),
        default=np.array([row[6] for row in rows], float),
        **{key: np.array([m[key] for m in motors], float) for key in motors[0]},
    )


def _points(section: Mapping[str, Any], tree: Tree) -> tuple[TrackingPoint, ...]:
    links = expand(section.get("links", []), tree.names)
    extra = (TrackingPoint(n, body, _vector(at)) for n, body, at in section.get("points", []))
    return (*(TrackingPoint(link, link) for link in links), *extra)


def _groups(
    groups: Mapping[str, Iterable[str]], known: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    known = tuple(known)
    return {name: expand(patterns, known) for name, patterns in groups.items()}


def expand(patterns: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Names as listed; or, with any wildcard, the known names that match, in their own order."""
    patterns = list(patterns)
    if not any(set("*?[") & set(pattern) for pattern in patterns):
        return tuple(patterns)
    return tuple(name for name in known if any(fnmatchcase(name, p) for p in patterns))


def _vector(values: Iterable[float]) -> Any:
    return tuple(float(v) for v in values)
