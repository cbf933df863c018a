"""`policy.toml`: the contract of any policy, written by hand or by us."""

from __future__ import annotations

import fnmatch
import tomllib
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

FORMAT = "gapless policy 1"
TOP = (
    *("format", "name", "robot", "network", "rate", "physics_step", "joints", "default"),
    *("kp", "kd", "hold", "clip", "action", "terms", "observation", "commands", "motion", "notes"),
)
MAX_BYTES = 1_000_000
VELOCITY = ("vx", "vy", "wz")


def read_toml(path: Path) -> tuple[PolicyContract, Path]:
    """The contract of a file, and the network that it names.

    Joints, default pose and gains that are not given are those of the robot that it names.
    """
    data = _parsed(path)
    _refuse_unknown(data, TOP, str(path))
    if data.get("format", FORMAT) != FORMAT:
        raise FormatError(f"{path}: format is {data['format']!r}; expected {FORMAT!r}")
    network = data.get("network", {})
    network = network if isinstance(network, dict) else {"file": network}
    lacking = [k for k in ("rate", "observation", "action") if k not in data]
    lacking += [] if isinstance(network.get("file"), str) else ["network"]
    if "robot" not in data:
        own = [k for k in ("joints", "default", "kp", "kd") if k not in data]
        lacking += [f"{', '.join(own)} (or robot, to take its own)"] if own else []
    if lacking:
        raise FormatError(f"{path} lacks {', '.join(lacking)}; see docs/policies.md")
    try:
        contract = _contract(data, network, path)
    except KeyError as error:
        raise FormatError(f"{path} lacks {error.args[0]}; see docs/policies.md") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{path} does not read as a contract: {error}") from error
    return contract, path.parent / network["file"]


def _parsed(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"{path} is larger than {MAX_BYTES} bytes")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is no valid TOML: {error}") from error


def _contract(data: dict[str, Any], network: dict[str, Any], path: Path) -> PolicyContract:
    robot = Robot.load(_beside(data["robot"], path)) if "robot" in data else None
    joints = tuple(data["joints"]) if "joints" in data else robot.joints.names  # type: ignore[union-attr]
    motion = data.get("motion", {})
    _refuse_unknown(motion, ("file", "seconds", "anchor", "bodies"), f"{path}: [motion]")
    _refuse_unknown(network, ("file", *_names(Ports)), f"{path}: [network]")
    terms = {name: _term(name, entry) for name, entry in data.get("terms", {}).items()}
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
        ports=Ports(**{k: v for k, v in network.items() if k != "file"}),
        physics_step=_number(data.get("physics_step")),
        motion_seconds=_number(motion.get("seconds")),
        reference=str(motion.get("file", "")),
        anchor=str(motion.get("anchor", "")),
        bodies=tuple(motion.get("bodies", ())),
        robot=str(data.get("robot", "")),
        notes=tuple(data.get("notes", ())),
    )


def _beside(robot: str, path: Path) -> str:
    """A robot's file is looked for beside the contract."""
    own = path.parent / robot
    return str(own) if own.suffix and own.is_file() else robot


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
    fitting = {j: [v for p, v in given.items() if fnmatch.fnmatchcase(j, p)] for j in joints}
    lacking = [j for j, found in fitting.items() if not found and j not in (own or {})]
    if lacking:
        whose = f"; {robot.name} has {', '.join(robot.joints.names)}" if robot else ""
        raise ValueError(f"{field} says nothing of {', '.join(lacking)}{whose}")
    return tuple(float(found[-1]) if found else float(own[j]) for j, found in fitting.items())  # type: ignore[index]


def _require_fit(value: Any, joints: Sequence[str], field: str) -> None:
    """A pattern that fits no joint is a slip of the pen."""
    for pattern in value if isinstance(value, Mapping) else ():
        if not fnmatch.filter(joints, pattern):
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
    _refuse_unknown(entry, _names(Action), f"{path}: [action]")
    if "scale" not in entry:
        raise FormatError(f"{path}: [action] lacks scale, the radians of a unit of output")
    for field in ("scale", "offset"):
        _require_fit(entry.get(field), joints, f"action.{field}")
    scale = by_joint(entry["scale"], joints, None, "action.scale")
    offset = by_joint(entry["offset"], joints, None, "action.offset") if "offset" in entry else ()
    limits = tuple((float(a), float(b)) for a, b in entry.get("limits", ()))
    meaning = str(entry.get("meaning", "offset"))
    return Action(meaning, scale, offset, bounds(entry.get("clip")), limits)


def _term(name: str, entry: dict[str, Any]) -> Term:
    own = ("kind", "scale", "clip", "joints")
    scale = entry.get("scale", 1.0)
    return Term(
        name=name,
        kind=str(entry.get("kind", name)),
        scale=tuple(map(float, scale)) if isinstance(scale, list) else (float(scale),),
        clip=bounds(entry.get("clip")),
        joints=tuple(entry.get("joints", ())),
        options={k: v for k, v in entry.items() if k not in own},
    )


def _block(entry: Any, number: int, path: Path) -> Block:
    where = f"{path}: [[observation]] {number}"
    if not isinstance(entry, dict):
        raise FormatError(f"{path}: observation is a list of tables; write [[observation]]")
    _refuse_unknown(entry, _names(Block), where)
    if not isinstance(entry.get("terms"), list):
        raise FormatError(f"{where} lacks terms, the names of what is seen, in order")
    return Block(**{**entry, "terms": tuple(entry["terms"])})


def _command(name: str, entry: dict[str, Any], path: Path) -> PolicyCommand:
    where = f"{path}: [commands.{name}]"
    _refuse_unknown(entry, _names(PolicyCommand), where)
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


def _refuse_unknown(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            raise FormatError(
                f"{where} has {key!r}, which means nothing here.{nearest(key, known)} "
                f"Known: {', '.join(known)}"
            )
