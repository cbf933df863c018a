"""Unitree's `deploy.yaml` beside an ONNX: unitree_rl_lab and unitree_rl_mjlab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gapless.errors import FormatError
from gapless.policies.contract_fields import bounds, contract_of_fields
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.safe_yaml import SetAside, read_yaml, set_aside
from gapless.policies.term_names import named_terms
from gapless.robots import Robot

_PARTS = ("hip", "thigh", "calf")
MOTORS = {29: "g1", 27: "h1_2", 23: "g1_23dof", 12: "go2"}
"""How many joints a file speaks of -> the robot whose they are; the file has no names."""
LEGS = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in _PARTS)
WIRING = {"go2": LEGS}
"""Motors as Unitree numbers them, of robots whose joints we list in another order."""
NEEDED = ("joint_ids_map", "step_dt", "stiffness", "damping", "default_joint_pos", "actions")
ACTION = "JointPositionAction"
PER_TERM = ("scale", "clip", "history_length")


def read_deploy(path: Path, robot: Robot | None = None) -> PolicyContract:
    """The contract of a `deploy.yaml`; see `deploy_fields`."""
    return contract_of_fields(*deploy_fields(path, robot, {}), path)


def deploy_fields(
    path: Path, robot: Robot | None, own: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """What a `deploy.yaml` says, as the fields of a `policy.toml`; and whose motors they are.

    Policy joint i is motor `joint_ids_map[i]`, a number or a name. Gains are listed by motor, the
    default pose and the scales by policy joint. History is laid out term by term, oldest
    first, the first repeated.

    Args:
        path: of the file.
        robot: whose motors they are; told by their number where it is not given.
        own: fields of the user's own, which may say what the file leaves out.
    """
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise FormatError(f"{path} is no deploy.yaml: expected a table of fields")
    lacking = [k for k in (*NEEDED, "observations") if k not in data]
    if "step_dt" in lacking and {"sim_dt", "decimation"} <= data.keys():
        lacking.remove("step_dt")
    if lacking:
        raise FormatError(f"{path} lacks {', '.join(lacking)}, which Unitree's deploy.yaml has")
    try:
        return _fields(data, path, robot, own)
    except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
        raise FormatError(f"{path} does not read as a deploy.yaml: {error}") from error


def _fields(
    data: dict[str, Any], path: Path, robot: Robot | None, own: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    order = _order(data, path, robot)
    pose = _numbers(data, path, "default_joint_pos", len(order))
    owner = _owner(order, robot, path)
    joints = _named(order, owner, path)
    if robot is None:
        _require_pose(joints, pose, owner, path)
    chosen = _moved(data, path, len(order))
    # Who names the joints lists their gains in the same order, not by motor.
    motors = list(range(len(order))) if isinstance(data["joint_ids_map"][0], str) else order
    kp, kd = (_by_motor(data, path, k, motors) for k in ("stiffness", "damping"))
    terms, blocks = _observations(data, path, joints, own.get("terms", {}))
    default = dict(zip(joints, pose, strict=True))
    folder = path.resolve().parent
    fields = {
        "name": (folder.parent if folder.name == "params" else folder).name,
        "rate": 1 / _step(data, path),
        "joints": [joints[i] for i in chosen],
        "default": default,
        "kp": [kp[i] for i in chosen],
        "kd": [kd[i] for i in chosen],
        "action": _action(data, path, len(chosen)),
        "terms": terms,
        "observation": blocks,
        "commands": {name: _ranges(entry, path) for name, entry in _commands(data).items()},
        "hold": {j: default[j] for i, j in enumerate(joints) if i not in chosen},
        "notes": _notes(data, owner, robot),
    }
    return fields, owner.name


def _step(data: Mapping[str, Any], path: Path) -> float:
    """Seconds of a control step; of Isaac Lab's two numbers where a file has those."""
    if "step_dt" in data:
        return float(_get(data, path, "step_dt"))
    return float(_get(data, path, "sim_dt")) * float(_get(data, path, "decimation"))


def _order(data: Mapping[str, Any], path: Path, robot: Robot | None) -> list[int]:
    """Motors of the policy's joints; some files name the joints instead."""
    given = _get(data, path, "joint_ids_map")
    if not all(isinstance(name, str) for name in given):
        return [int(i) for i in given]
    if robot is None:
        raise FormatError(f"{path}: joint_ids_map names joints; say of which robot: --robot")
    motors = WIRING.get(robot.name, robot.joints.names)
    lacking = [name for name in given if name not in motors]
    if lacking:
        raise FormatError(f"{path}: joint_ids_map names {', '.join(lacking)}, not on {robot.name}")
    return [motors.index(name) for name in given]


def _notes(data: dict[str, Any], owner: Robot, robot: Robot | None) -> tuple[str, ...]:
    aside = set_aside(data)
    notes = [f"{where} has the tag {tag}: not needed, skipped, not run" for where, tag in aside]
    if robot is None:
        count = len(data["joint_ids_map"])
        notes.append(
            f"deploy.yaml names no joints: its {count} are taken for those of {owner.name}"
        )
    return tuple(notes)


def _get(data: Mapping[str, Any], path: Path, *keys: str) -> Any:
    """A field that is needed; one whose tag would have run code is refused by name."""
    value, passed = data, []
    for key in keys:
        if not isinstance(value, SetAside):
            value = value.get(key) if isinstance(value, Mapping) else None
            passed.append(key)
    hidden = set_aside(value, ".".join(passed))
    if hidden:
        where, tag = hidden[0]
        raise FormatError(
            f"{path}: {where} is needed, but its tag {tag} would run code; write the value out"
        )
    return value


def _owner(order: Sequence[int], robot: Robot | None, path: Path) -> Robot:
    """Whose motors these are."""
    if robot is not None:
        return robot
    if len(order) not in MOTORS:
        raise FormatError(f"{path} speaks of {len(order)} joints without names; say whose: --robot")
    # Unitree's own G1 of 23 joints: motors of the one of 29, some of which are not there.
    gaps = len(order) == 23 and max(order) > 22
    return Robot.load("g1" if gaps else MOTORS[len(order)])


def _named(order: Sequence[int], owner: Robot, path: Path) -> tuple[str, ...]:
    motors = WIRING.get(owner.name, owner.joints.names)
    if max(order) >= len(motors) or min(order) < 0:
        raise FormatError(
            f"{path} speaks of motors {min(order)} to {max(order)}, {owner.name} has {len(motors)}"
        )
    return tuple(motors[i] for i in order)


def _require_pose(joints: Sequence[str], pose: Sequence[float], owner: Robot, path: Path) -> None:
    """Whose motors they are was only guessed: at least it can stand like that."""
    columns = owner.joints.pick(joints)
    low, high = owner.joints.lower[columns] - 0.01, owner.joints.upper[columns] + 0.01
    for joint, angle, a, b in zip(joints, pose, low, high, strict=True):
        if not a <= angle <= b:
            raise FormatError(
                f"{path} speaks of {len(joints)} joints without names, as {owner.name} has, but "
                f"its {joint} cannot stand at {angle:g}; say whose they are: --robot"
            )


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
    if not isinstance(values, list) or len(values) < len(order):
        raise FormatError(f"{path}: {key} must have a number for each motor")
    if len(values) <= max(order):  # motors that are not there are left out
        order = [sorted(order).index(i) for i in order]
    return tuple(float(values[i]) for i in order)


def _moved(data: Mapping[str, Any], path: Path, count: int) -> list[int]:
    """Which of the file's joints the actions move; a tag there is a slice, of all."""
    actions = data["actions"]
    if not isinstance(actions, dict) or actions.keys() != {ACTION}:
        named = ", ".join(actions) if isinstance(actions, dict) else _get(data, path, "actions")
        raise FormatError(f"{path}: actions is {named}; only {ACTION} is known")
    chosen = _chosen(actions[ACTION], count)
    return list(range(count)) if chosen is None else chosen


def _chosen(entry: Any, count: int) -> list[int] | None:
    found = entry.get("joint_ids") if isinstance(entry, dict) else None
    return [range(count)[int(i)] for i in found] if isinstance(found, list) else None


def _action(data: Mapping[str, Any], path: Path, count: int) -> dict[str, Any]:
    given = {key: _get(data, path, "actions", ACTION, key) for key in ("scale", "offset", "clip")}
    if given["scale"] is None:
        raise FormatError(f"{path}: actions.{ACTION} lacks scale")
    scale, offset = (np.ravel(given[key] or 0.0).astype(float) for key in ("scale", "offset"))
    if len(scale) not in (1, count) or len(offset) not in (1, count):
        raise FormatError(
            f"{path}: actions.{ACTION} has {len(scale)} scales and {len(offset)} offsets; "
            f"expected {count}"
        )
    return {
        "scale": np.broadcast_to(scale, count).tolist() if len(scale) > 1 else float(scale[0]),
        "offset": np.broadcast_to(offset, count).tolist(),
        "limits": given["clip"] or [],
    }


def _observations(
    data: Mapping[str, Any], path: Path, joints: tuple[str, ...], own: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    table, where = _group(data["observations"], path)
    entries = {}
    for name, entry in table.items():
        if isinstance(entry, SetAside):
            _get({where: table}, path, where, name)
        if not isinstance(entry, dict):
            continue
        for key in PER_TERM:
            _get({where: table}, path, where, name, key)
        entries[name] = entry
    kinds = named_terms({n: _params(entry) for n, entry in entries.items()}, str(path), own)
    first = bool(table.get("scale_first"))
    terms = {n: kinds[n] | _term(n, e, kinds[n], first, joints, path) for n, e in entries.items()}
    frames = [max(1, int(entry.get("history_length") or 1)) for entry in entries.values()]
    if table.get("use_gym_history") and len(set(frames)) == 1:
        return terms, [{"terms": list(terms), "frames": frames[0], "by": "frame"}]
    return terms, [{"terms": [n], "frames": f} for n, f in zip(terms, frames, strict=True)]


def _group(table: Mapping[str, Any], path: Path) -> tuple[Mapping[str, Any], str]:
    """The terms of the network's input, which newer files put into a group of its name."""
    keys = ("params", *PER_TERM)
    groups = [
        name
        for name, entry in table.items()
        if isinstance(entry, dict) and entry and not any(k in entry for k in keys)
    ]
    if not groups:
        return table, "observations"
    usual = [name for name in ("policy", "obs", "actor") if name in groups]
    if len(groups) > 1 and not usual:
        raise FormatError(f"{path}: observations has groups {', '.join(groups)}; one is known")
    name = usual[0] if usual else groups[0]
    return table[name], f"observations.{name}"


def _params(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    params = entry.get("params")
    return params if isinstance(params, dict) else {}


def _term(
    name: str,
    entry: Mapping[str, Any],
    kind: Mapping[str, Any],
    scale_first: bool,
    joints: tuple[str, ...],
    path: Path,
) -> dict[str, Any]:
    scale = np.ravel(1.0 if entry.get("scale") is None else entry["scale"]).astype(float)
    found: dict[str, Any] = {"scale": scale.tolist()}
    clip = bounds(entry.get("clip"))
    if clip is not None and scale_first:
        if len(set(scale)) > 1 or scale[0] <= 0:
            raise FormatError(f"{path}: {name} is clipped after scales that differ; not known here")
        clip = clip[0] / scale[0], clip[1] / scale[0]
    if clip is not None:
        found["clip"] = list(clip)
    if kind["kind"].startswith("joint_"):
        chosen = _chosen(_params(entry).get("asset_cfg"), len(joints))
        found["joints"] = list(joints) if chosen is None else [joints[i] for i in chosen]
    return found


def _commands(data: Mapping[str, Any]) -> dict[str, Any]:
    """Velocity commands under the one name that terms ask for."""
    found = data.get("commands") or {}
    ranges = [v for v in found.values() if isinstance(v, dict) and "ranges" in v]
    return {"velocity": ranges[0]["ranges"]} if ranges else {}


def _ranges(entry: Mapping[str, Any], path: Path) -> dict[str, Any]:
    pairs = [entry.get(k) for k in ("lin_vel_x", "lin_vel_y", "ang_vel_z")]
    if any(not isinstance(p, list) or len(p) != 2 or isinstance(p, SetAside) for p in pairs):
        raise FormatError(f"{path}: commands must have ranges lin_vel_x, lin_vel_y and ang_vel_z")
    lower, upper = zip(*pairs, strict=True)  # type: ignore[arg-type]
    return {"lower": list(map(float, lower)), "upper": list(map(float, upper))}
