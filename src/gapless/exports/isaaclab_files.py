"""`--to isaaclab`: the articulation as Python data, and the correction as torch files.

Writing it needs no Isaac Lab; reading it needs none either, until `articulation_cfg()` is called.
"""

from __future__ import annotations

import math
import pprint
from pathlib import Path
from typing import Any

from gapless.artifact import staged, write_json, write_text_atomic
from gapless.exports.exported import Exported, listed
from gapless.exports.frozen_files import expressible, standalone, write_frozen
from gapless.exports.mjcf_folder import write_mjcf
from gapless.exports.simulator_parts import NATIVE_TO_TARGETS, SimulatorParts
from gapless.robots import Robot

DATA, MODULE, MODEL = "articulation.json", "isaaclab_robot.py", "robot.xml"
GROUPED = (
    *("stiffness", "damping", "effort_limit", "velocity_limit", "armature"),
    *("friction", "dynamic_friction", "viscous_friction"),
)
"""Figures of a group of actuators, by Isaac Lab's names; all are by joint."""

ABOUT = """# {robot} for Isaac Lab

`articulation.py` is the articulation as plain Python data; `isaaclab_robot.py` makes Isaac Lab's
own configuration of it:

    from isaaclab_robot import articulation_cfg
    ROBOT_CFG = articulation_cfg(usd_path="robot.usd")

Convert `robot.xml` to USD with Isaac Lab's own converter (`scripts/tools/convert_mjcf.py`).
Gains, limits, armature and friction of the drives are in the configuration, so those of the USD do
not count; masses and inertias are in `robot.xml`.

Written for Isaac Lab 2.3 with Isaac Sim 5, where joint friction is a torque (N·m); in Isaac Sim
4.5 it is a coefficient, and these figures do not fit. Delays are counted in physics steps of
{step:g} s and rounded to them. {learned}

None of this was run in Isaac Lab itself: that the files are read back, that the figures in them are
those of the simulator, and that the network gives what gapless's own does is tested; that Isaac
Lab takes the configuration is not.

Not in this folder:

{lost}
"""
LEARNED = (
    "`frozen_correction.py` adds what was learned to joint {head}: ask it once a control step "
    "({rate:g} Hz), before the targets are set."
)


def export_isaaclab(parts: SimulatorParts, path: Path, overwrite: bool = False) -> Exported:
    """Write the folder."""
    data, lost = articulation(parts), _lost(parts)
    with staged(path, overwrite) as folder:
        text = pprint.pformat(data, width=100, sort_dicts=False)
        head = f'"""{parts.robot.name}, calibrated: an articulation as plain data."""\n\n'
        write_text_atomic(folder / "articulation.py", f"{head}ARTICULATION = {text}\n")
        write_json(folder / DATA, data)
        write_text_atomic(folder / MODULE, standalone(MODULE))
        write_mjcf(parts.robot, parts.world.timestep, folder, name=MODEL)
        if parts.correction is not None and expressible(parts.correction):
            write_frozen(parts.correction, folder)
        write_text_atomic(folder / "README.md", _readme(parts, lost))
        files = tuple(sorted(str(p.relative_to(folder)) for p in folder.rglob("*.*")))
    return Exported(path, "isaaclab", files, lost)


def articulation(parts: SimulatorParts) -> dict[str, Any]:
    """What Isaac Lab's ArticulationCfg says, as plain data."""
    robot, world = parts.robot, parts.world
    joints = robot.joints
    height = robot.standing_height if robot.mount == "free" else 0.0
    return {
        "format": "gapless isaaclab 1",
        **parts.about(),
        "sim": {"dt": world.timestep, "decimation": world.substeps},
        "fix_base": robot.mount != "free",
        "self_collisions": robot.self_collision,
        "joints": list(joints.names),
        "init_state": {
            "pos": (0.0, 0.0, float(height)),
            "joint_pos": dict(zip(joints.names, joints.default.tolist(), strict=True)),
        },
        "actuators": actuator_groups(parts),
        "encoder_bias": _by_joint(robot, parts.effects.encoder_bias),
        "correction": expressible(parts.correction),
    }


def actuator_groups(parts: SimulatorParts) -> dict[str, dict[str, Any]]:
    """Groups of joints with one delay: DelayedPDActuator where there is one, else implicit PD."""
    robot, effects = parts.robot, parts.effects
    found: dict[str, dict[str, Any]] = {}
    for i, joint in enumerate(robot.joints.names):
        if robot.joints.actuated[i]:
            lag = round(float(effects.delay[i]) / parts.world.timestep)
            name = f"delay_{lag}" if lag else "direct"
            group = found.setdefault(name, _group(lag))
            group["joint_names_expr"].append(joint)
            for field, value in _figures(robot, i).items():
                group[field][joint] = value
    return found


def _group(lag: int) -> dict[str, Any]:
    kind = {"class_name": "DelayedPDActuator", "min_delay": lag, "max_delay": lag}
    own = kind if lag else {"class_name": "ImplicitActuator"}
    return {**own, "joint_names_expr": [], **{field: {} for field in GROUPED}}


def _figures(robot: Robot, i: int) -> dict[str, float | None]:
    joints = robot.joints
    dry = (joints.frictionloss, joints.frictionloss)  # at rest and in motion alike
    values = (joints.kp, joints.kd, joints.effort, joints.velocity, joints.armature)
    columns = (*values, *dry, joints.damping)
    figures = {field: float(v[i]) for field, v in zip(GROUPED, columns, strict=True)}
    return {k: v if math.isfinite(v) else None for k, v in figures.items()}


def _by_joint(robot: Robot, values: Any) -> dict[str, float]:
    pairs = zip(robot.joints.names, values.tolist(), strict=True)
    return {joint: value for joint, value in pairs if value}


def _lost(parts: SimulatorParts) -> tuple[str, ...]:
    lost = list(parts.left_out(NATIVE_TO_TARGETS, learned=expressible(parts.correction)))
    if "delay" in parts.acting():
        lost.append("fractions of a physics step in delays: they are rounded")
    if "encoder_bias" in parts.acting():
        lost.append("encoder_bias in the drives: subtract it from targets, add it to readings")
    return (*lost, "contact figures: PhysX has other ones; friction and softness are MuJoCo's")


def _readme(parts: SimulatorParts, lost: tuple[str, ...]) -> str:
    correction, learned = parts.correction, ""
    if correction is not None and expressible(correction):
        heads = {"action": "targets (rad)", "torque": "torques (N·m)"}
        head, rate = heads[correction.contract.head], correction.contract.rate
        learned = LEARNED.format(head=head, rate=rate)
    return ABOUT.format(
        robot=parts.robot.name, step=parts.world.timestep, learned=learned, lost=listed(lost)
    )
