"""Parameters of a world that a motion may tell about, each as a change to the nominal robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import GaplessError, unknown
from gapless.robots import Payload, Robot
from gapless.worlds.effects import Effects
from gapless.worlds.mujoco import MujocoWorld

UNITS = {
    "kp": "N·m/rad",
    "kd": "N·m·s/rad",
    "armature": "kg·m²",
    "damping": "N·m·s/rad",
    "frictionloss": "N·m",
    "delay": "s",
}
"""What every joint has, and its unit; a load ("payload:<link>") is in kg."""

EXPECTED_SHARE = 0.2
"""How far a figure of a data sheet is usually off, as a share of it."""

STEP_SHARE = 0.02
"""Finite-difference step as a share of the scale; wider ones hide what cannot be told apart."""

DELAY_SCALE, LOAD_SCALE = 0.01, 0.5
"""Expected size of an unknown delay, s, and of an unknown load, kg."""


@dataclass(frozen=True)
class Parameter:
    """One unknown number; its value is an offset from the nominal robot.

    Attributes:
        name: "kp/left_elbow_joint", "delay/all", "payload:gripper".
        field: a key of `UNITS`, or "payload".
        places: the joints (or the one link) whose figure moves.
        unit: of the value.
        scale: expected size of the offset; makes numbers of different units comparable.
        step: finite-difference step.
        lowest: most negative offset that makes sense.
    """

    name: str
    field: str
    places: tuple[str, ...]
    unit: str
    scale: float
    step: float
    lowest: float

    @property
    def joint(self) -> str | None:
        """The joint it belongs to; None for a load and for a number that all joints share."""
        return self.places[0] if self.name == f"{self.field}/{self.places[0]}" else None

    def apply(self, robot: Robot, effects: Effects, offset: float) -> tuple[Robot, Effects]:
        """The robot and effects with this parameter moved from where it is there."""
        if self.field == "payload":
            return _load(robot, self.places[0], offset), effects
        columns = robot.joints.pick(self.places)
        if self.field == "delay":
            moved = effects.resolve(len(robot.joints)).delay.copy()
            moved[columns] = np.maximum(moved[columns] + offset, 0.0)
            return robot, replace(effects, delay=moved)
        moved = getattr(robot.joints, self.field).copy()
        moved[columns] = np.maximum(moved[columns] + offset, 0.0)
        return robot.with_joints(**{self.field: moved}), effects


def changed(
    world: MujocoWorld, parameters: Sequence[Parameter], offsets: Sequence[float] | np.ndarray
) -> MujocoWorld:
    """The world with each parameter moved by its offset; compiled once."""
    robot, effects = world.robot, world.effects
    for parameter, offset in zip(parameters, offsets, strict=True):
        robot, effects = parameter.apply(robot, effects, float(offset))
    return world.variant(robot=robot, effects=effects)


def parameters_of(robot: Robot, names: Iterable[str]) -> list[Parameter]:
    """The parameters that names stand for.

    Args:
        robot: gives joints, links and nominal figures.
        names: "kp" is one number for each driven joint, "kp/left_elbow_joint" that joint's,
            "kp/arms" one for each joint of the group, "kp/all" one number added to all joints;
            "payload:<link>" is a load. See `UNITS` for the fields.
    """
    found = [parameter for name in names for parameter in _named(robot, name)]
    if not found:
        raise GaplessError("no parameter is named; expected names such as 'kp' or 'frictionloss'")
    return list({parameter.name: parameter for parameter in found}.values())


def _named(robot: Robot, name: str) -> list[Parameter]:
    kind, _, link = name.partition(":")
    if kind == "payload" and link:
        return [_payload(robot, robot.check_link(link))]
    field, _, place = name.partition("/")
    if field not in UNITS:
        raise unknown("parameter", name, (*UNITS, "payload:<link>"))
    driven = [
        j for j, moves in zip(robot.joints.names, robot.joints.actuated, strict=True) if moves
    ]
    if place == "all":
        return [_of_joints(robot, field, tuple(driven), "all")]
    chosen = [j for j in robot.joint_names(place) if j in driven] if place else driven
    return [_of_joints(robot, field, (joint,), joint) for joint in chosen]


def _of_joints(robot: Robot, field: str, joints: tuple[str, ...], label: str) -> Parameter:
    columns, name = robot.joints.pick(joints), f"{field}/{label}"
    if field == "delay":
        step = DELAY_SCALE  # a delay acts in whole physics steps; this is several of them
        return Parameter(name, field, joints, UNITS[field], DELAY_SCALE, step, 0.0)
    nominal = getattr(robot.joints, field)[columns]
    size = np.where(nominal > 0, nominal, _usual(robot, field)[columns]).mean()
    scale = EXPECTED_SHARE * float(size)
    lowest = -float(nominal.min())
    return Parameter(name, field, joints, UNITS[field], scale, STEP_SHARE * scale, lowest)


def _usual(robot: Robot, field: str) -> np.ndarray:
    """(J,) what to expect where the nominal figure is zero."""
    joints = robot.joints
    gain = np.where(joints.kp > 0, joints.kp, 1.0)
    effort = np.where((joints.effort > 0) & np.isfinite(joints.effort), joints.effort, gain)
    sizes = {"kp": gain, "kd": 0.02 * gain, "damping": 0.02 * gain, "armature": 3e-4 * gain}
    return sizes.get(field, 0.02 * effort)


def _payload(robot: Robot, link: str) -> Parameter:
    carried = robot.payloads.get(link, Payload(0.0)).mass
    step = STEP_SHARE * LOAD_SCALE
    return Parameter(f"payload:{link}", "payload", (link,), "kg", LOAD_SCALE, step, -carried)


def _load(robot: Robot, link: str, offset: float) -> Robot:
    old = robot.payloads.get(link, Payload(0.0))
    loads = robot.payloads | {link: Payload(max(old.mass + offset, 0.0), old.com)}
    return robot.with_payloads(loads)
