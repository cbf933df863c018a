"""Explicit gains and limits of every joint, read from a compiled model's actuators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import ModelError, unknown
from gapless.robots.joints import Joints

if TYPE_CHECKING:
    import mujoco

Gains = Mapping[str, tuple[float, float]]


class NeedsOptionsError(ModelError):
    """The model alone does not say enough; options, or a robot file, must."""


@dataclass
class Drive:
    """What the actuators of one joint add up to."""

    kp: float = 0.0
    kd: float = 0.0
    effort: float = np.inf
    armature: float = 0.0
    damping: float = 0.0


def read_drives(model: mujoco.MjModel, notes: list[str]) -> dict[str, Drive]:
    """Sum up the actuators of each joint; what cannot be kept is written into `notes`."""
    import mujoco

    drives: dict[str, Drive] = {}
    on_joints = int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    for i in range(model.nu):
        name = model.actuator(i).name or f"#{i}"
        if model.actuator_trntype[i] not in on_joints:
            notes.append(f"actuator {name} does not drive a joint; it was removed")
            continue
        if model.actuator_dyntype[i] != mujoco.mjtDyn.mjDYN_NONE:
            notes.append(f"actuator {name}: its activation dynamics were removed")
        joint = model.joint(model.actuator_trnid[i, 0]).name
        _add(model, i, drives.setdefault(joint, Drive()), name, notes)
    return drives


def _add(model: mujoco.MjModel, i: int, drive: Drive, name: str, notes: list[str]) -> None:
    import mujoco

    gear = model.actuator_gear[i, 0]
    if model.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_AFFINE:
        # The compiler has already turned dampratio into an explicit, negative velocity gain.
        drive.kp += -model.actuator_biasprm[i, 1] * gear**2
        drive.kd += -model.actuator_biasprm[i, 2] * gear**2
    elif model.actuator_biastype[i] != mujoco.mjtBias.mjBIAS_NONE:
        notes.append(f"actuator {name} is no PD controller; only its force limit was kept")
    if abs(gear) != 1:
        notes.append(f"actuator {name}: gear {gear:g} is folded into the joint's gains and effort")
    drive.effort = min(drive.effort, _effort(model, i, gear))
    drive.armature += _extra(model, "actuator_armature", i) * gear**2
    drive.damping += _extra(model, "actuator_damping", i) * gear**2


def _extra(model: mujoco.MjModel, field: str, i: int) -> float:
    # Fields of newer MuJoCo versions: the actuator's own armature and damping.
    return float(np.ravel(getattr(model, field)[i])[0]) if hasattr(model, field) else 0.0


def _effort(model: mujoco.MjModel, i: int, gear: float) -> float:
    limits = [np.inf]
    if model.actuator_forcelimited[i]:
        limits.append(abs(model.actuator_forcerange[i]).max() * abs(gear))
    torque_controlled = model.actuator_biasprm[i, 1] == 0 and model.actuator_gainprm[i, 0] != 0
    if torque_controlled and model.actuator_ctrllimited[i] and not model.actuator_biasprm[i, 2]:
        gain = abs(model.actuator_gainprm[i, 0] * gear)
        limits.append(abs(model.actuator_ctrlrange[i]).max() * gain)
    return min(limits)


def explicit_gains(gains: Gains | None, joints: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Gains by joint, from gains by joint or by pattern ("*_knee_*")."""
    result: dict[str, tuple[float, float]] = {}
    for pattern, pair in (gains or {}).items():
        matched = [joint for joint in joints if fnmatchcase(joint, pattern)]
        if not matched:
            raise unknown("joint", pattern, joints)
        result |= {joint: (float(pair[0]), float(pair[1])) for joint in matched}
    return result


def read_joints(
    model: mujoco.MjModel, gains: Gains | None, default: Mapping[str, float], notes: list[str]
) -> Joints:
    """All hinges and slides of a model, with explicit gains; unactuated ones have none."""
    ids = [j for j in range(model.njnt) if _moves_one_way(model, j)]
    names = tuple(model.joint(j).name for j in ids)
    drives, given = read_drives(model, notes), explicit_gains(gains, names)
    _refuse_gainless(drives, given)
    rows = [
        _row(model, j, drives.get(name), given.get(name))
        for j, name in zip(ids, names, strict=True)
    ]
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    unlimited = [name for name in names if not model.joint(name).limited[0]]
    notes += [f"joint {name} has no position limits" for name in unlimited]
    for joint in default:
        if joint not in names:
            raise unknown("joint", joint, names)
    pose = [default.get(name, float(model.qpos0[model.joint(name).qposadr[0]])) for name in names]
    return Joints(names, default=np.array(pose), **columns)


def _moves_one_way(model: mujoco.MjModel, joint: int) -> bool:
    import mujoco

    kind = mujoco.mjtJoint(model.jnt_type[joint])
    if kind == mujoco.mjtJoint.mjJNT_BALL:
        raise ModelError(
            f"joint {model.joint(joint).name!r} is a ball joint, which has no single position to "
            "command; replace it by three hinges"
        )
    return kind != mujoco.mjtJoint.mjJNT_FREE


def _refuse_gainless(drives: Mapping[str, Drive], given: Gains) -> None:
    bare = [name for name, d in drives.items() if d.kp == 0 and d.kd == 0 and name not in given]
    if bare:
        raise NeedsOptionsError(
            f"these joints have torque motors, so the model does not say their gains: "
            f"{', '.join(bare)}. Pass gains={{'{bare[0]}': (kp, kd), ...}}, or {{'*': (kp, kd)}}"
        )


def _row(
    model: mujoco.MjModel, joint: int, drive: Drive | None, gains: tuple[float, float] | None
) -> dict[str, float]:
    dof = model.jnt_dofadr[joint]
    limited = bool(model.jnt_limited[joint])
    values = drive or Drive(effort=np.inf if gains else 0.0)
    effort = values.effort
    if model.jnt_actfrclimited[joint]:
        effort = min(effort, abs(model.jnt_actfrcrange[joint]).max())
    kp, kd = gains or (values.kp, values.kd)
    return {
        "kp": kp,
        "kd": kd,
        "effort": effort,
        "velocity": np.inf,
        "armature": model.dof_armature[dof] + values.armature,
        "damping": float(np.ravel(model.dof_damping[dof])[0]) + values.damping,
        "frictionloss": model.dof_frictionloss[dof],
        "lower": model.jnt_range[joint, 0] if limited else -np.inf,
        "upper": model.jnt_range[joint, 1] if limited else np.inf,
    }
