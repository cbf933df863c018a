"""All figures of a calibrated robot as the tasks of an mjlab package read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from gapless.exports.frozen_files import expressible
from gapless.exports.simulator_parts import SimulatorParts
from gapless.identification.estimate import Estimate
from gapless.robots import Robot
from gapless.tracking.tracking_contract import anchor_of

if TYPE_CHECKING:
    from mujoco import MjModel

FORMAT = "gapless mjlab 1"
AS_THEY_ARE = ("armature", "damping", "frictionloss", "delay", "encoder_bias")
"""Kinds whose interval is drawn from as it is."""
AXES = ("com_x", "com_y", "com_z")
DRAWN = (
    *AS_THEY_ARE,
    *AXES,
    "kp",
    "kd",
    "kd_ratio",
    "strength",
    "effort",
    "mass",
    "floor_friction",
)
USUAL_SCALE, LARGEST_SCALE = 0.25, 1.0
"""Radians of a unit action: mjlab's share of the torque limit over the gain, and at most."""
CONTACTS, ROWS = 8, 4
"""Contacts that room is made for, a shape that touches things; rows of the solver, a contact."""


def mjlab_figures(
    parts: SimulatorParts, model: MjModel, package: str, motion: bool
) -> dict[str, Any]:
    """The file figures.json.

    Args:
        parts: of the simulator.
        model: of the calibrated robot, as the run simulates it.
        package: name of the package, from which its tasks have theirs.
        motion: whether there is a motion to track.
    """
    robot, world = parts.robot, parts.world
    names = robot.joints.names
    delay, bias = (getattr(parts.effects, kind) for kind in ("delay", "encoder_bias"))
    return {
        "format": FORMAT,
        "task": f"Gapless-{package.replace('_', '-').title()}",
        **parts.about(),
        "timestep": world.timestep,
        "decimation": world.substeps,
        "options": _options(model),
        **_room(model),
        "start": _start(robot),
        "actuators": _actuators(robot),
        "delay": {j: float(d) for j, d in zip(names, delay, strict=True) if d},
        "encoder_bias": {j: float(b) for j, b in zip(names, bias, strict=True) if b},
        "floor": _floor(robot),
        "ranges": drawn_ranges(parts.estimates),
        "action_scale": _scales(robot),
        "anchor": anchor_of(robot),
        "bodies": _bodies(robot),
        "ends": _ends(robot, model),
        "motion": motion,
        "correction": expressible(parts.correction),
    }


def _options(model: MjModel) -> dict[str, Any]:
    """MuJoCo's options that mjlab sets itself."""
    option = model.opt
    return {
        "integrator": _word(mujoco.mjtIntegrator(option.integrator)),
        "cone": _word(mujoco.mjtCone(option.cone)),
        "solver": _word(mujoco.mjtSolver(option.solver)),
        "impratio": float(option.impratio),
        "iterations": int(option.iterations),
        "tolerance": float(option.tolerance),
        "ls_iterations": int(option.ls_iterations),
        "ls_tolerance": float(option.ls_tolerance),
        "ccd_iterations": int(option.ccd_iterations),
        "gravity": option.gravity.tolist(),
    }


def _word(value: Any) -> str:
    return value.name.split("_")[-1].lower()


def _room(model: MjModel) -> dict[str, int]:
    """Contacts and rows of the solver, which MuJoCo Warp sets aside beforehand."""
    touching = int(((model.geom_contype | model.geom_conaffinity) > 0).sum())
    contacts = CONTACTS * touching + 2 * CONTACTS
    return {"nconmax": contacts, "njmax": ROWS * contacts + 3 * model.nv}


def _start(robot: Robot) -> dict[str, Any]:
    height = robot.standing_height if robot.mount == "free" else 0.0
    pose = zip(robot.joints.names, robot.joints.default.tolist(), strict=True)
    return {"pos": [0.0, 0.0, float(height)], "joints": dict(pose)}


def _actuators(robot: Robot) -> list[dict[str, Any]]:
    """One a driven joint: mjlab's names of its figures."""
    joints = robot.joints
    fields = {
        "stiffness": joints.kp,
        "damping": joints.kd,
        "effort_limit": joints.effort,
        "armature": joints.armature,
        "frictionloss": joints.frictionloss,
        "viscous_damping": joints.damping,
    }
    return [
        {
            "joint": joint,
            **{k: float(v[i]) if 0 <= v[i] < np.inf else None for k, v in fields.items()},
        }
        for i, joint in enumerate(joints.names)
        if joints.actuated[i]
    ]


def _floor(robot: Robot) -> dict[str, float] | None:
    """Of a robot on its feet; one that is held brings the plane that it touches."""
    if robot.mount != "free":
        return None
    return {"friction": robot.floor.friction, "softness": robot.floor.softness}


def _scales(robot: Robot) -> dict[str, float]:
    joints = robot.joints
    limit = USUAL_SCALE * joints.effort / np.maximum(joints.kp, 1e-9)
    scale = np.where(np.isfinite(limit), np.minimum(limit, LARGEST_SCALE), USUAL_SCALE)
    pairs = zip(joints.names, scale.tolist(), joints.actuated, strict=True)
    return {joint: s for joint, s, driven in pairs if driven}


def _bodies(robot: Robot) -> list[str]:
    """What a tracker follows; the root, from which episodes start, is first."""
    return list(dict.fromkeys([robot.root, *(point.body for point in robot.tracking)]))


def _ends(robot: Robot, model: MjModel) -> list[str]:
    """Feet and hands, or the last links."""
    named = [link for group in ("feet", "hands") for link in robot.link_groups.get(group, ())]
    parents = {int(p) for p in model.body_parentid[1:]}
    last = [model.body(i).name for i in range(1, model.nbody) if i not in parents]
    return [link for link in named or last if link in _bodies(robot)]


def drawn_ranges(estimates: tuple[Estimate, ...]) -> dict[str, Any]:
    """What mjlab's events draw from: 95 % intervals, as each of them takes it."""
    found: dict[str, Any] = {}
    for estimate in estimates:
        kind, value = estimate.parameter.kind, estimate.value
        low, high = (float(edge) for edge in estimate.interval)
        for place, own in zip(estimate.parameter.places, estimate.nominal, strict=False):
            scale = own if estimate.parameter.factor else 1.0
            if kind in AS_THEY_ARE:
                found.setdefault(kind, {})[place] = sorted([scale * low, scale * high])
            elif kind in AXES:
                at = found.setdefault("com", {}).setdefault(place, {})
                at[str(AXES.index(kind))] = [low - value, high - value]
            elif value > 0:
                _as_shares(found, kind, place, low / value, high / value)
        if kind == "floor_friction":
            found[kind] = [low, high]
    return found


def _as_shares(found: dict[str, Any], kind: str, place: str, low: float, high: float) -> None:
    """Kinds that are drawn as a share of what was identified."""
    if kind in ("kp", "kd", "kd_ratio", "strength"):
        gains = found.setdefault("gains", {}).setdefault(
            place, {"kp": [1.0, 1.0], "kd": [1.0, 1.0]}
        )
        gains |= {k: [low, high] for k in ("kp", "kd") if kind in (k, f"{k}_ratio", "strength")}
    if kind in ("effort", "strength"):
        found.setdefault("effort", {})[place] = [low, high]
    if kind == "mass":  # mass and inertia grow with the exponential of twice this number
        edges = [0.5 * math.log(max(edge, 1e-6)) for edge in (low, high)]
        found.setdefault("density", {})[place] = edges


def not_drawn(estimates: tuple[Estimate, ...]) -> tuple[str, ...]:
    """Identified figures whose uncertainty no event of mjlab draws."""
    kinds = dict.fromkeys(e.parameter.kind for e in estimates if e.parameter.kind not in DRAWN)
    return tuple(f"the uncertainty of {kind}: mjlab has no event for it" for kind in kinds)
