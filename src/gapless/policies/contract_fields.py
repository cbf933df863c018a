"""A contract from the fields of a `policy.toml`, whoever wrote them: people, or another format."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from gapless.errors import FormatError, nearest
from gapless.policies.policy_contract import (
    Action,
    Block,
    PolicyCommand,
    PolicyContract,
    Ports,
    Term,
)
from gapless.robots import Robot

VELOCITY = ("vx", "vy", "wz")
"""Names of the numbers of a velocity command."""


def contract_of_fields(data: Mapping[str, Any], whose: str, path: Path) -> PolicyContract:
    """The contract that these fields say.

    Joints, default pose and gains that are not given are those of the robot that it names.

    Args:
        data: as `policy.toml` has them; rate, observation and action at least.
        whose: the robot of which they speak where they name none; "" is unknown.
        path: of the file that says them.
    """
    try:
        return _contract(data, whose, path)
    except KeyError as error:
        raise FormatError(f"{path} lacks {error.args[0]}; see docs/policies.md") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"{path} does not read as a contract: {error}") from error


def network_of_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The table `network`, which may be no more than the name of a file."""
    network = data.get("network", {})
    return dict(network) if isinstance(network, Mapping) else {"file": network}


def _contract(data: Mapping[str, Any], whose: str, path: Path) -> PolicyContract:
    robot = Robot.load(beside(data["robot"], path)) if "robot" in data else None
    joints = tuple(data["joints"]) if "joints" in data else robot.joints.names  # type: ignore[union-attr]
    motion = data.get("motion", {})
    normaliser = data.get("normaliser", {})
    refuse_unknown(normaliser, ("mean", "std"), f"{path}: [normaliser]")
    refuse_unknown(motion, ("file", "seconds", "anchor", "bodies"), f"{path}: [motion]")
    terms = {name: _term(name, entry, joints) for name, entry in data.get("terms", {}).items()}
    blocks = tuple(_block(entry, k, path) for k, entry in enumerate(data["observation"], 1))
    for name in (n for b in blocks for n in b.terms if n not in terms):
        terms[name] = Term(name, name)  # a kind by its own name needs no table
    return PolicyContract(
        name=str(
            data.get("name", path.stem if path.stem != "policy" else path.resolve().parent.name)
        ),
        rate=float(data["rate"]),
        joints=joints,
        default=_defaults(data.get("default"), joints, robot),
        **_gains(data, joints, robot),
        action=_action(data["action"], joints, path),
        terms=terms,
        blocks=blocks,
        commands={k: _command(k, v, path) for k, v in data.get("commands", {}).items()},
        hold={k: float(v) for k, v in data.get("hold", {}).items()},
        clip=bounds(data.get("clip")),
        ports=ports_of_fields(data, path),
        physics_step=_number(data.get("physics_step")),
        motion_seconds=_number(motion.get("seconds")),
        reference=str(motion.get("file", "")),
        anchor=str(motion.get("anchor", "")),
        bodies=tuple(motion.get("bodies", ())),
        robot=str(data.get("robot", whose)),
        notes=tuple(data.get("notes", ())),
        mean=tuple(map(float, normaliser.get("mean", ()))),
        std=tuple(map(float, normaliser.get("std", ()))),
    )


def ports_of_fields(data: Mapping[str, Any], path: Path) -> Ports:
    """Names of inputs and outputs in the table `network`."""
    given = network_of_fields(data)
    refuse_unknown(given, ("file", *_names(Ports)), f"{path}: [network]")
    given.pop("file", None)
    for key, value in given.items():
        if key in ("states", "motion"):
            names = [*value.values()] if isinstance(value, Mapping) else [None]
        else:
            names = value if key == "observation" and isinstance(value, list) else [value]
        if not all(isinstance(name, str) for name in names):
            expected = "{ NAME = NAME }" if key in ("states", "motion") else "a name"
            raise FormatError(f"{path}: [network] has {key} = {value!r}; expected {expected}")
    seen = given.get("observation", "")
    return Ports(**{**given, "observation": tuple(seen) if isinstance(seen, list) else seen})


def beside(robot: str, path: Path) -> str:
    """A robot's file is looked for beside the contract."""
    own = path.parent / robot
    return str(own) if own.suffix and os.path.isfile(own) else robot


def by_joint(
    value: Any, joints: Sequence[str], robot: Robot | None, field: str
) -> tuple[float, ...]:
    """Numbers in the order of the joints from one number, a list, or patterns of names.

    Where several patterns fit, the last counts; where none does, the robot's own number.
    """
    if isinstance(value, list | tuple):
        return tuple(map(float, value))
    if value is not None and not isinstance(value, Mapping):
        return (float(value),) * len(joints)
    own = robot and dict(zip(robot.joints.names, getattr(robot.joints, field), strict=True))
    given = value or {}
    fitting = {
        j: [v for p, v in given.items() if p == j or fnmatch.fnmatchcase(j, p)] for j in joints
    }
    lacking = [j for j, found in fitting.items() if not found and j not in (own or {})]
    if lacking:
        whose = f"; {robot.name} has {', '.join(robot.joints.names)}" if robot else ""
        raise ValueError(f"{field} says nothing of {', '.join(lacking)}{whose}")
    return tuple(float(found[-1]) if found else float(own[j]) for j, found in fitting.items())  # type: ignore[index]


def _require_fit(value: Any, joints: Sequence[str], field: str) -> None:
    """A pattern that fits no joint is a slip of the pen."""
    for pattern in value if isinstance(value, Mapping) else ():
        if pattern not in joints and not fnmatch.filter(joints, pattern):
            hint = nearest(pattern, joints)
            raise ValueError(f"{field} names {pattern!r}, which fits no joint.{hint}")


def _gains(data: Mapping[str, Any], joints: Sequence[str], robot: Robot | None) -> dict[str, tuple]:
    for field in ("kp", "kd"):
        _require_fit(data.get(field), joints, field)
    return {field: by_joint(data.get(field), joints, robot, field) for field in ("kp", "kd")}


def _defaults(value: Any, joints: Sequence[str], robot: Robot | None) -> dict[str, float]:
    """Of the moved joints and, from a robot or from names, of others that are seen."""
    own = {} if robot is None else dict(zip(robot.joints.names, robot.joints.default, strict=True))
    others = {k: v for k, v in value.items() if "*" not in k} if isinstance(value, Mapping) else {}
    if robot is not None:
        _require_fit(value, (*robot.joints.names, *joints), "default")
    mine = by_joint(value, joints, robot, "default")
    if len(mine) != len(joints):
        raise ValueError(f"default has {len(mine)} numbers for {len(joints)} joints")
    given = {**own, **others, **dict(zip(joints, mine, strict=True))}
    return {joint: float(angle) for joint, angle in given.items()}


def _action(entry: dict[str, Any], joints: Sequence[str], path: Path) -> Action:
    refuse_unknown(entry, _names(Action), f"{path}: [action]")
    if "scale" not in entry:
        raise FormatError(f"{path}: [action] lacks scale, the radians of a unit of output")
    for field in ("scale", "offset"):
        _require_fit(entry.get(field), joints, f"action.{field}")
    scale = by_joint(entry["scale"], joints, None, "action.scale")
    offset = by_joint(entry["offset"], joints, None, "action.offset") if "offset" in entry else ()
    limits = tuple((float(a), float(b)) for a, b in entry.get("limits", ()))
    meaning = str(entry.get("meaning", "offset"))
    return Action(meaning, scale, offset, bounds(entry.get("clip")), limits)


def _term(name: str, entry: Mapping[str, Any], moved: Sequence[str]) -> Term:
    own = ("kind", "scale", "clip", "joints", "columns", "ago")
    joints = tuple(map(str, entry.get("joints", ())))
    scale = entry.get("scale", 1.0)
    return Term(
        name=name,
        kind=str(entry.get("kind", name)),
        scale=tuple(map(float, scale)) if isinstance(scale, list) else (float(scale),),
        clip=bounds(entry.get("clip")),
        joints=() if joints == tuple(moved) else joints,
        columns=tuple(map(int, entry.get("columns", ()))),
        ago=entry.get("ago", 0),
        options={k: v for k, v in entry.items() if k not in own},
    )


def _block(entry: Any, number: int, path: Path) -> Block:
    where = f"{path}: [[observation]] {number}"
    if not isinstance(entry, dict):
        raise FormatError(f"{path}: observation is a list of tables; write [[observation]]")
    refuse_unknown(entry, _names(Block), where)
    if not isinstance(entry.get("terms"), list):
        raise FormatError(f"{where} lacks terms, the names of what is seen, in order")
    return Block(**{**entry, "terms": tuple(entry["terms"])})


def _command(name: str, entry: dict[str, Any], path: Path) -> PolicyCommand:
    where = f"{path}: [commands.{name}]"
    refuse_unknown(entry, _names(PolicyCommand), where)
    lacking = [k for k in ("lower", "upper") if k not in entry]
    if lacking:
        raise FormatError(f"{where} lacks {' and '.join(lacking)}")
    lower, upper = (tuple(map(float, entry[k])) for k in ("lower", "upper"))
    names = tuple(entry.get("names", VELOCITY if len(lower) == 3 else ()))
    return PolicyCommand(lower, upper, names)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def bounds(value: Any) -> tuple[float, float] | None:
    """Lower and upper from a pair, or from one number for both signs."""
    if value is None:
        return None
    low, high = value if isinstance(value, list | tuple) else (-abs(value), abs(value))
    return float(low), float(high)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def refuse_unknown(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    """A field that means nothing is a slip of the pen."""
    for key in data:
        if key not in known:
            raise FormatError(
                f"{where} has {key!r}, which means nothing here.{nearest(key, known)} "
                f"Known: {', '.join(known)}"
            )
