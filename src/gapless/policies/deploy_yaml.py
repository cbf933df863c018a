"""Unitree's `deploy.yaml` beside an ONNX: unitree_rl_lab and unitree_rl_mjlab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.policies.contract_toml import VELOCITY, bounds
from gapless.policies.policy_contract import Action, Block, PolicyCommand, PolicyContract, Term
from gapless.policies.safe_yaml import SetAside, read_yaml, set_aside
from gapless.policies.term_names import named_term
from gapless.robots import Robot

MOTORS = {29: "g1", 23: "g1_23dof", 12: "go2", 27: "h1_2"}
"""How many motors a file speaks of -> the robot whose they are; the file has no names."""
NEEDED = ("joint_ids_map", "step_dt", "stiffness", "damping", "default_joint_pos", "actions")


def read_deploy(path: Path, robot: Robot | None = None) -> PolicyContract:
    """The contract of a `deploy.yaml`.

    Policy joint i is motor `joint_ids_map[i]`. Gains are listed by motor, the default pose and the
    scales by policy joint. History is laid out term by term, oldest first, the first repeated.

    Args:
        path: of the file.
        robot: whose motors they are; told by their number where it is not given.
    """
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise FormatError(f"{path} is no deploy.yaml: expected a table of fields")
    lacking = [k for k in (*NEEDED, "observations") if k not in data]
    if lacking:
        raise FormatError(f"{path} lacks {', '.join(lacking)}, which Unitree's deploy.yaml has")
    aside = set_aside(data)
    if _get(data, path, "actions").keys() != {"JointPositionAction"}:
        raise FormatError(
            f"{path}: actions is {list(data['actions'])}; only JointPositionAction is known"
        )
    order = [int(i) for i in _get(data, path, "joint_ids_map")]
    motors, known = _motors(order, robot, path)
    joints = tuple(motors[i] for i in order)
    pose = _numbers(data, path, "default_joint_pos", len(order))
    kp, kd = (_by_motor(data, path, k, order) for k in ("stiffness", "damping"))
    terms, blocks = _observations(data, path)
    notes = [f"{where} has the tag {tag}: not needed, skipped, not run" for where, tag in aside]
    if robot is None:
        notes.append(
            f"deploy.yaml names no joints: {len(order)} motors are taken for those of {known}"
        )
    return PolicyContract(
        name=path.parent.name,
        rate=1 / float(_get(data, path, "step_dt")),
        joints=joints,
        default=dict(zip(joints, pose, strict=True)),
        kp=kp,
        kd=kd,
        action=_action(data, path, len(order)),
        terms=terms,
        blocks=blocks,
        commands={name: _ranges(entry, path) for name, entry in _commands(data).items()},
        robot=known,
        notes=tuple(notes),
    )


def _get(data: Mapping[str, Any], path: Path, *keys: str) -> Any:
    """A field that is needed; one whose tag would have run code is refused by name."""
    value: Any = data
    for key in keys:
        value = value[key] if isinstance(value, Mapping) and key in value else None
    hidden = set_aside(value, ".".join(keys))
    # joint_ids names all joints by a slice; the map above says the same.
    hidden = [(where, tag) for where, tag in hidden if not where.endswith("joint_ids")]
    if hidden:
        where, tag = hidden[0]
        raise FormatError(
            f"{path}: {where} is needed, but its tag {tag} would run code; write the value out"
        )
    return value


def _motors(order: Sequence[int], robot: Robot | None, path: Path) -> tuple[tuple[str, ...], str]:
    count = max(order, default=-1) + 1
    if robot is None and count not in MOTORS:
        raise FormatError(f"{path} speaks of {count} motors without names; say whose with --robot")
    owner = robot or Robot.load(MOTORS[count])
    if count > len(owner.joints) or min(order) < 0:
        raise FormatError(
            f"{path} speaks of motor {count - 1}, {owner.name} has {len(owner.joints)} joints"
        )
    return owner.joints.names, owner.name


def _numbers(data: Mapping[str, Any], path: Path, key: str, count: int) -> tuple[float, ...]:
    values = _get(data, path, key)
    if not isinstance(values, list) or len(values) != count:
        size = len(values) if isinstance(values, list) else 0
        raise FormatError(f"{path}: {key} has {size} numbers; expected {count}")
    return tuple(map(float, values))


def _by_motor(
    data: Mapping[str, Any], path: Path, key: str, order: Sequence[int]
) -> tuple[float, ...]:
    values = _get(data, path, key)
    if not isinstance(values, list) or len(values) <= max(order):
        raise FormatError(f"{path}: {key} must have a number for each motor")
    return tuple(float(values[i]) for i in order)


def _action(data: Mapping[str, Any], path: Path, count: int) -> Action:
    entry = _get(data, path, "actions", "JointPositionAction")
    scale, offset = (np.ravel(entry.get(key, 0.0)).astype(float) for key in ("scale", "offset"))
    if len(scale) not in (1, count) or len(offset) not in (1, count):
        raise FormatError(
            f"{path}: actions.JointPositionAction has {len(scale)} scales and {len(offset)} "
            f"offsets; expected {count}"
        )
    offset = np.broadcast_to(offset, count)
    limits = tuple((float(a), float(b)) for a, b in entry.get("clip") or ())
    return Action("offset", tuple(scale.tolist()), tuple(offset.tolist()), None, limits)


def _observations(data: Mapping[str, Any], path: Path) -> tuple[dict[str, Term], tuple[Block, ...]]:
    entries = {k: v for k, v in _get(data, path, "observations").items() if isinstance(v, dict)}
    by = "frame" if data["observations"].get("use_gym_history") else "term"
    terms, frames = {}, []
    for name, entry in entries.items():
        scale = np.ravel(1.0 if entry.get("scale") is None else entry["scale"]).astype(float)
        term = named_term(name, entry.get("params") or {}, tuple(scale.tolist()), str(path))
        clip = bounds(entry.get("clip"))
        terms[name] = term if clip is None else Term(**{**vars(term), "clip": clip})
        frames.append(max(1, int(entry.get("history_length") or 1)))
    if by == "frame" and len(set(frames)) == 1:
        return terms, (Block(tuple(terms), frames[0], "frame"),)
    return terms, tuple(Block((n,), f) for n, f in zip(terms, frames, strict=True))


def _commands(data: Mapping[str, Any]) -> dict[str, Any]:
    """Velocity commands under the one name that terms ask for."""
    found = data.get("commands") or {}
    ranges = [v for v in found.values() if isinstance(v, dict) and "ranges" in v]
    return {"velocity": ranges[0]["ranges"]} if ranges else {}


def _ranges(entry: Mapping[str, Any], path: Path) -> PolicyCommand:
    pairs = [entry.get(k) for k in ("lin_vel_x", "lin_vel_y", "ang_vel_z")]
    if any(not isinstance(p, list) or len(p) != 2 or isinstance(p, SetAside) for p in pairs):
        raise FormatError(f"{path}: commands must have ranges lin_vel_x, lin_vel_y and ang_vel_z")
    lower, upper = zip(*pairs, strict=True)  # type: ignore[arg-type]
    return PolicyCommand(tuple(map(float, lower)), tuple(map(float, upper)), VELOCITY)
