"""Whether a robot's motors hold what it carries: asked before hours of training, not after."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from gapless.errors import ModelError
from gapless.robots import Robot


def refuse_heavy_load(robot: Robot, bare: Robot | None = None) -> None:
    """Refuse a load with which the robot cannot even stand still.

    In its default pose; a biped on each foot alone, too, as in every step of a walk.

    Args:
        robot: with its load.
        bare: the same without it; without the robot's payloads by default.

    Raises:
        ModelError: with the joint that lacks most, its torque and limit, and what is held.
    """
    bare = robot.with_payloads({}) if bare is None else bare
    load = _mass(robot) - _mass(bare) if robot.fingerprint() != bare.fingerprint() else 0.0
    if load <= 0:
        return
    limit, places = _limits(robot), ", ".join(robot.payloads) or "its links"
    for feet in _stances(robot):
        loaded, empty = holding_torques(robot, feet), holding_torques(bare, feet)
        # What is too weak without the load is not the load's fault.
        over = np.where(np.abs(empty) <= limit, np.abs(loaded) / limit, 0.0)
        worst = int(np.argmax(over))
        if over[worst] <= 1:
            continue
        held = load * _held_share(empty, loaded, limit)
        raise ModelError(
            f"a load of {load:.3g} kg on {places} is beyond the motors of {robot.name}: "
            f"{robot.joints.names[worst]} needs {abs(loaded[worst]):.3g} N·m to hold the default "
            f"pose{_on(robot, feet)}, its limit is {limit[worst]:.3g} N·m. Expected {held:.3g} kg "
            "at most: carry less (--payload LINK=KG), or calibrate with a load that it holds"
        )


def holding_torques(robot: Robot, feet: Sequence[str]) -> np.ndarray:
    """(J,) torques that hold the default pose at rest, N·m.

    A robot on its feet shares its weight between them, with the least forces and moments. On one
    foot its ankle counts nothing: leaning over the foot relieves it, and no other joint.
    """
    model = robot.model()
    data = mujoco.MjData(model)
    for name, angle in zip(robot.joints.names, robot.joints.default, strict=True):
        data.joint(name).qpos[:] = angle
    mujoco.mj_forward(model, data)
    torque = data.qfrc_bias.copy()  # gravity alone: nothing moves
    if feet:
        reach = np.concatenate([_jacobian(model, data, foot) for foot in feet])
        torque -= reach.T @ np.linalg.lstsq(reach[:, :6].T, torque[:6], rcond=None)[0]
    found = torque[[int(model.joint(name).dofadr[0]) for name in robot.joints.names]]
    if len(feet) == 1:
        found[robot.joints.pick(robot.joint_groups.get("ankles", ()))] = 0.0
    return found


def _stances(robot: Robot) -> list[tuple[str, ...]]:
    """Feet that carry it; none where it is held."""
    feet = robot.feet
    if robot.mount != "free":
        return [()]
    return [feet, *((foot,) for foot in feet)] if len(feet) == 2 else [feet]


def _on(robot: Robot, feet: Sequence[str]) -> str:
    return f" on {feet[0]} alone" if len(feet) == 1 and robot.mount == "free" else ""


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData, link: str) -> np.ndarray:
    """(6, V) of a link's origin: how velocities move and turn it."""
    moved, turned = np.zeros((2, 3, model.nv))
    mujoco.mj_jacBody(model, data, moved, turned, model.body(link).id)
    return np.concatenate([moved, turned])


def _limits(robot: Robot) -> np.ndarray:
    """(J,) torque limits, N·m; endless where none is known."""
    effort = robot.joints.effort
    return np.where((effort > 0) & np.isfinite(effort), effort, np.inf)


def _held_share(bare: np.ndarray, loaded: np.ndarray, limit: np.ndarray) -> float:
    """The share of a load that every motor holds: torques grow in step with it."""
    added = loaded - bare
    moved = (np.abs(added) > 1e-9) & (np.abs(bare) <= limit)
    room = np.copysign(limit, added) - bare
    return float(max(0.0, np.min(room[moved] / added[moved], initial=np.inf)))


def _mass(robot: Robot) -> float:
    return float(robot.model().body_mass.sum())
