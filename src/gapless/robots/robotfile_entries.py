"""The keys of a robot file: what each must look like, and every problem there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gapless.errors import ModelError, nearest
from gapless.robots.inertia import Floor
from gapless.robots.joints import Alias, TrackingPoint

PLAIN: dict[str, Any] = {
    **dict.fromkeys(("model", "name", "title", "root", "mount", "folder"), str),
    **dict.fromkeys(("rate", "height", "action_scale"), float),
    "self_collision": bool,
    "unactuated": ("refuse", "lock", "passive"),
    "meshes": ("load", "drop"),
    "feet": ("own", "hull"),
}
"""Key -> the type of its value, or the choices there are."""
FIGURES = ("effort", "velocity", "armature", "damping", "frictionloss")
SECTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "gains": ("[kp, kd]", lambda v: _numbers(v, 2)),
    **dict.fromkeys(FIGURES, ("a number by joint or pattern", lambda v: _numbers([v], 1))),
    "default": ("radians", lambda v: _numbers([v], 1)),
    "aliases": ('"joint" or {joint = "...", sign = -1, offset = 0.0}', lambda v: alias(v)),
    "end_effectors": ('"link" or {body = "...", offset = [x, y, z]}', lambda v: point("", v)),
    "link_groups": ("a list of links or patterns", lambda v: _names(v)),
    "joint_groups": ("a list of joints or patterns", lambda v: _names(v)),
    "floor": ("a number", lambda v: _numbers([v], 1)),
}
"""Section -> what its values look like, and what reads one or raises."""
FLOOR = ("height", "tilt_x", "tilt_y", "friction", "softness")
"""Figures of the section [floor]."""


def wrong_entries(table: Mapping[str, Any], path: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Unknown keys, values of the wrong kind, and a model that is not there."""
    for key, value in table.items():
        if key in PLAIN:
            yield from _wrong_value(key, value)
        elif key in SECTIONS:
            yield from _wrong_section(key, value)
        else:
            known = (*PLAIN, *SECTIONS)
            yield f"unknown key {key!r}.{nearest(key, known)} Known: {', '.join(known)}"
    model = path.parent / str(table.get("model", ""))
    if model.suffix.lower() not in suffixes:
        yield f'model must be the path of an MJCF or URDF ({", ".join(suffixes)}): model = "my.xml"'
    elif not model.is_file():
        yield f"there is no model at {model}; its path is relative to this file"
    elif "meshes" in table and model.suffix.lower() != ".urdf":
        yield "meshes is for URDF only; an MJCF's meshes are always loaded"


def _wrong_value(key: str, value: Any) -> Iterator[str]:
    expected = PLAIN[key]
    if isinstance(expected, tuple):
        if value not in expected:
            yield f"{key} is {value!r}; it must be one of {', '.join(expected)}"
    elif not (isinstance(value, expected) or (expected is float and type(value) is int)):
        yield f"{key} is {value!r}; it must be a {expected.__name__}"
    elif key == "rate" and not value > 0:
        yield f"rate is {value!r}; it must be above 0 Hz"


def _wrong_section(key: str, section: Any) -> Iterator[str]:
    expected, read = SECTIONS[key]
    if not isinstance(section, dict):
        yield f"{key} is {section!r}; it must be a section [{key}] of lines: name = {expected}"
        return
    for name, value in section.items():
        try:
            read(value)
        except (TypeError, ValueError):
            yield f"{key}.{name} is {value!r}; it must be {expected}"


def wrong_floor(section: Any) -> Iterator[str]:
    """Figures that no floor has, and values that none can have."""
    if not isinstance(section, dict):
        return
    unknown = [key for key in section if key not in FLOOR]
    yield from (
        f"floor: unknown parameter {key!r}.{nearest(key, FLOOR)} Known: {', '.join(FLOOR)}"
        for key in unknown
    )
    if not unknown and all(type(v) in (int, float) for v in section.values()):
        try:
            floor(section)
        except ModelError as error:
            yield f"floor: {error}"


def floor(section: Mapping[str, float]) -> Floor:
    """Read what the robot stands on or touches."""
    figures = {key: float(value) for key, value in section.items()}
    x, y = figures.pop("tilt_x", 0.0), figures.pop("tilt_y", 0.0)
    return Floor(**figures).tilted(x, y)


def wrong_names(
    table: Mapping[str, Any], joints: tuple[str, ...], links: tuple[str, ...]
) -> Iterator[str]:
    """Joints and links that the model does not have."""
    used = defaultdict(dict, table)
    mount = table.get("mount", "fixed")
    named_joints = {
        **{key: used[key] for key in ("gains", *FIGURES)},
        "default": used["default"],
        "aliases": [alias(v).joint for v in used["aliases"].values()],
        "joint_groups": [joint for group in used["joint_groups"].values() for joint in group],
    }
    named_links = {
        "link_groups": [link for group in used["link_groups"].values() for link in group],
        "end_effectors": [point("", v).body for v in used["end_effectors"].values()],
        "mount": [] if mount in ("free", "fixed") else [mount],
    }
    for kind, named, known in (("joint", named_joints, joints), ("link", named_links, links)):
        for key, names in named.items():
            for name in names:
                if not any(fnmatchcase(k, name) for k in known):
                    hint = f"{nearest(name, known)} Known: {', '.join(known)}"
                    yield f"{key}: unknown {kind} {name!r}.{hint}"


def alias(value: Any) -> Alias:
    """Read `"joint"` or `{joint, sign, offset}`."""
    found = Alias(value) if isinstance(value, str) else Alias(**value)
    sign, offset = _numbers([found.sign, found.offset], 2)
    if not isinstance(found.joint, str) or abs(sign) != 1:
        raise ValueError(value)
    return Alias(found.joint, sign, offset)


def point(name: str, value: Any) -> TrackingPoint:
    """Read `"link"` or `{body, offset}`."""
    found = TrackingPoint(name, value) if isinstance(value, str) else TrackingPoint(name, **value)
    x, y, z = _numbers(list(found.offset), 3)
    if not isinstance(found.body, str):
        raise TypeError(value)
    return TrackingPoint(name, found.body, (x, y, z))


def _numbers(values: Any, count: int) -> list[float]:
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(values)
    if not all(type(v) in (int, float) for v in values):
        raise TypeError(values)
    return [float(v) for v in values]


def _names(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise ValueError(values)
    return values
