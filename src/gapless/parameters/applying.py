"""A robot and its effects with parameters set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gapless.parameters.kinds import AXES, EFFECT_FIELDS, JOINT_FIELDS, KINDS, PLANES
from gapless.parameters.parameter import Parameter
from gapless.robots import Inertia, Payload, Robot
from gapless.worlds.effects import IMU, Effects
from gapless.worlds.mujoco_world import MujocoWorld

Values = Sequence[float] | np.ndarray


def apply(
    robot: Robot, effects: Effects, parameters: Sequence[Parameter], values: Values
) -> tuple[Robot, Effects]:
    """The robot and the effects with each parameter at its value.

    Args:
        robot: the nominal robot; a factor multiplies its figures.
        effects: the nominal effects.
        parameters: of this robot.
        values: one a parameter.
    """
    wanted = _by_kind(robot, effects, parameters, values)
    robot = _with_joints(_with_links(robot, wanted), wanted)
    moved = {k: v for k, v in wanted.items() if k in EFFECT_FIELDS}
    if moved:
        effects = replace(effects, **_effect_arrays(robot, effects, moved))
    return _with_contacts(robot, wanted), effects


def changed(world: MujocoWorld, parameters: Sequence[Parameter], offsets: Values) -> MujocoWorld:
    """The world with each parameter moved by an offset from its prior."""
    values = [p.prior + offset for p, offset in zip(parameters, offsets, strict=True)]
    values = [min(max(v, p.lower), p.upper) for v, p in zip(values, parameters, strict=True)]
    robot, effects = apply(world.robot, world.effects, parameters, values)
    return world.variant(robot=robot, effects=effects)


def as_in(world: MujocoWorld, parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters with the world's own figures as priors: `changed` then moves from there."""
    return [_as_in(world, parameter) for parameter in parameters]


def _as_in(world: MujocoWorld, parameter: Parameter) -> Parameter:
    read, places = KINDS[parameter.kind].nominal, parameter.places or ("",)
    figures = [read(world.robot, world.effects, place) for place in places]
    own = 1.0 if parameter.factor else float(np.mean(figures))
    lower, upper = min(parameter.lower, own), max(parameter.upper, own)
    return replace(parameter, prior=own, lower=lower, upper=upper)


def _by_kind(
    robot: Robot, effects: Effects, parameters: Sequence[Parameter], values: Values
) -> dict[str, dict[str, float]]:
    """Kind -> place -> the figure there."""
    wanted: dict[str, dict[str, float]] = {}
    for parameter, value in zip(parameters, values, strict=True):
        at = wanted.setdefault(parameter.kind, {})
        for place in parameter.places or ("",):
            own = KINDS[parameter.kind].nominal(robot, effects, place) if parameter.factor else 1.0
            at[place] = float(value) * own
    return wanted


def _effect_arrays(
    robot: Robot, effects: Effects, moved: Mapping[str, Mapping[str, float]]
) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for field, at in moved.items():
        if field in IMU:
            arrays[field] = at[""]
            continue
        array = np.array(np.broadcast_to(getattr(effects, field), len(robot.joints)), float)
        for joint, value in at.items():
            array[robot.joints.index(joint)] = value
        arrays[field] = array
    return arrays


def _with_joints(robot: Robot, wanted: Mapping[str, Mapping[str, float]]) -> Robot:
    """A gain that differs from the table is what the drive makes of it: stated ones err alike."""
    fields = {k: dict(v) for k, v in wanted.items() if k in JOINT_FIELDS}
    for joint, share in wanted.get("strength", {}).items():
        for field in ("kp", "kd", "effort"):
            own = getattr(robot.joints, field)[robot.joints.index(joint)]
            figures = fields.setdefault(field, {})
            figures[joint] = share * figures.get(joint, float(own))
    ratios = wanted.get("kd_ratio", {})
    for joint, ratio in ratios.items():
        figures = fields.setdefault("kd", {})
        own = robot.joints.kd[robot.joints.index(joint)]
        figures[joint] = ratio * figures.get(joint, float(own))
    new = robot.with_joints(**fields) if fields else robot
    if not {"kp", "kd"} & set(fields):
        return new
    errors = dict(robot.gain_errors)
    for joint in dict.fromkeys([*fields.get("kp", ()), *fields.get("kd", ())]):
        column, was = robot.joints.index(joint), errors.get(joint, (1.0, 1.0))
        pairs = [[getattr(r.joints, k)[column] for r in (new, robot)] for k in ("kp", "kd")]
        unstated = (1.0, ratios.get(joint, 1.0))
        moved = [float(a / b) if b > 0 else c for (a, b), c in zip(pairs, unstated, strict=True)]
        errors[joint] = (was[0] * moved[0], was[1] * moved[1])
    return replace(new, gain_errors=errors)


def _with_links(robot: Robot, wanted: Mapping[str, Mapping[str, float]]) -> Robot:
    inertias = {link: _inertia(robot, link, wanted) for link in _touched(wanted, _INERTIA)}
    loads = {link: _load(robot, link, wanted) for link in _touched(wanted, _LOAD)}
    robot = robot.with_inertias(inertias) if inertias else robot
    return robot.with_payloads(robot.payloads | loads) if loads else robot


def _with_contacts(robot: Robot, wanted: Mapping[str, Mapping[str, float]]) -> Robot:
    """The floor and the soles as told."""
    floor = {k.removeprefix("floor_"): v[""] for k, v in wanted.items() if k.startswith("floor_")}
    x, y = (floor.pop(f"tilt_{a}", own) for a, own in zip("xy", robot.floor.tilt, strict=True))
    if (x, y) != robot.floor.tilt:
        robot = robot.with_floor(robot.floor.tilted(x, y))
    if floor:
        robot = robot.with_floor(replace(robot.floor, **floor))
    soles = {link: _sole(robot, link, wanted) for link in _touched(wanted, _SOLE)}
    return robot.with_soles(soles) if soles else robot


def _sole(
    robot: Robot, link: str, wanted: Mapping[str, Mapping[str, float]]
) -> tuple[float, float]:
    own = dict(zip(_SOLE, robot.soles.get(link, (0.0, 0.0)), strict=True))
    x, height = (wanted.get(kind, {}).get(link, own[kind]) for kind in _SOLE)
    return x, height


_SOLE = ("sole_x", "sole_height")
_SHAPE = (*(f"stretch_{a}" for a in AXES), *(f"shear_{p}" for p in PLANES))
_INERTIA = ("mass", *(f"com_{a}" for a in AXES), *_SHAPE)
_LOAD = ("payload", *(f"payload_{a}" for a in AXES))


def _touched(wanted: Mapping[str, Mapping[str, float]], kinds: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(link for kind in kinds for link in wanted.get(kind, ())))


def _inertia(robot: Robot, link: str, wanted: Mapping[str, Mapping[str, float]]) -> Inertia:
    """Mass and centre as told; the mass distribution stretched and sheared about its centre.

    Stretching and shearing what is there (a log-Cholesky factor of its second moments) always
    leaves a body that could exist.
    """
    own = robot.inertia(link)
    mass = wanted.get("mass", {}).get(link, own.mass)
    com = [wanted.get(f"com_{a}", {}).get(link, own.com[i]) for i, a in enumerate(AXES)]
    shape = [wanted.get(kind, {}).get(link, 0.0) for kind in _SHAPE]
    if not any(shape):
        return Inertia(mass, tuple(com), own.moments)  # type: ignore[arg-type]
    factor = np.diag(np.exp(shape[:3]))
    factor[0, 1], factor[0, 2], factor[1, 2] = shape[3:]
    spread = factor @ (np.trace(own.tensor) / 2 * np.eye(3) - own.tensor) @ factor.T
    return Inertia.of(mass, np.array(com), np.trace(spread) * np.eye(3) - spread)


def _load(robot: Robot, link: str, wanted: Mapping[str, Mapping[str, float]]) -> Payload:
    own = robot.payloads.get(link, Payload(0.0))
    at = robot.inertia(link).com if own.com is None else own.com
    com = [wanted.get(f"payload_{a}", {}).get(link, at[i]) for i, a in enumerate(AXES)]
    moved = any(link in wanted.get(f"payload_{a}", ()) for a in AXES)
    mass = wanted.get("payload", {}).get(link, own.mass)
    return Payload(mass, tuple(com) if moved or own.com is not None else None)  # type: ignore[arg-type]
