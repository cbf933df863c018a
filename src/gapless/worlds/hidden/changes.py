"""A hidden unit's figures built into a robot and its actuators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.robots import Floor, Inertia, Payload, Robot
from gapless.worlds.effects import Effects
from gapless.worlds.hidden.truth import Truth

HEAT_LOSS = 0.002
"""Share of its torque a motor loses per kelvin: magnets weaken, and drives derate."""
STRIBECK_SPEED = 0.1
LARGEST = 0.9
"""No figure takes away more than this share of what it acts on."""


def hidden_robot(robot: Robot, truth: Truth) -> Robot:
    """The robot with the unit's own motors, friction, links and floor."""
    joints = robot.joints
    strength, effort = strengths(robot, truth), _finite_effort(robot)
    changed = robot.with_joints(
        kp=joints.kp * strength,
        kd=joints.kd * strength,
        effort=joints.effort * strength,
        frictionloss=joints.frictionloss + effort * truth.array("coulomb", joints.names),
        damping=joints.damping
        + effort / _finite_speed(robot) * truth.array("viscous", joints.names),
        armature=joints.armature
        * (1 + np.clip(truth.array("armature", joints.names), -LARGEST, LARGEST)),
    )
    changed = changed.with_inertias(_inertias(robot, truth)).with_floor(_floor(robot, truth))
    return changed.with_payloads(loads(robot, robot.payloads, truth))


def strengths(robot: Robot, truth: Truth) -> np.ndarray:
    """(J,) share of its nominal torque that each motor gives."""
    return 1 - np.clip(truth.array("strength", robot.joints.names), 0, LARGEST)


def loads(robot: Robot, payloads: dict[str, Payload], truth: Truth) -> dict[str, Payload]:
    """What the links carry: known loads, further out than known."""
    return {link: _gripped(robot, link, load, truth) for link, load in payloads.items()}


def _gripped(robot: Robot, link: str, load: Payload, truth: Truth) -> Payload:
    """A load held further along the link, towards its end effector, than the log says."""
    ends = {p.body: np.array(p.offset) for p in robot.end_effectors}
    if link not in ends or link not in truth.values.get("grip", {}):
        return load
    at = np.array(robot.inertia(link).com if load.com is None else load.com)
    length = np.linalg.norm(ends[link])
    further = ends[link] / length if length else np.array([1.0, 0.0, 0.0])
    moved = at + truth.values["grip"][link][0] * further
    return Payload(load.mass, tuple(moved.tolist()))


def hidden_effects(robot: Robot, truth: Truth) -> Effects:
    """What the unit's actuators add to PD, in the robot's joint order."""
    names, effort = robot.joints.names, _finite_effort(robot)
    speed = np.where(robot.joints.velocity > 0, robot.joints.velocity, np.inf)
    falling = truth.array("speed_limit", names, off=np.nan)
    limited = np.isfinite(falling)
    heating = truth.array("heat", names)
    return Effects(
        delay=truth.number("command_delay"),
        jitter=truth.number("command_jitter"),
        encoder_bias=truth.array("encoder_bias", names),
        stribeck_torque=effort * truth.array("stribeck", names),
        stribeck_speed=STRIBECK_SPEED,
        load_friction=truth.array("load_friction", names),
        backdrive_friction=truth.array("backdrive", names),
        quadratic_friction=truth.array("quadratic_friction", names) / effort,
        corner_speed=np.where(limited, speed * (1 - np.clip(falling, 0, LARGEST)), np.inf),
        no_load_speed=np.where(limited, speed, np.inf),
        backlash=truth.array("backlash", names),
        compliance=truth.array("flex", names) / effort,
        heating=heating,
        heat_loss=np.where(heating > 0, HEAT_LOSS, 0.0),
        seed=1000 * truth.seed + truth.unit,
    )


def _inertias(robot: Robot, truth: Truth) -> dict[str, Inertia]:
    """Links with their errors and what nobody knows they carry; only those that differ."""
    effects = ("link_mass", "link_com", "link_inertia", "unknown_load")
    named = [truth.values.get(name, {}) for name in effects]
    changed = {}
    for link in robot.links if any(named) else ():
        mass, com, moment, load = (values.get(link, np.zeros(1)) for values in named)
        true = robot.inertia(link)
        if true.mass < 1e-6 or not any(np.any(x) for x in (mass, com, moment, load)):
            continue
        heavier = 1 + float(np.clip(mass[0], -LARGEST, LARGEST))
        larger = heavier * (1 + float(np.clip(moment[0], -LARGEST, LARGEST)))
        moved = Inertia.of(true.mass * heavier, true.com + com, true.tensor * larger)
        changed[link] = moved.plus(float(load[0]), np.array(moved.com))
    return changed


def _floor(robot: Robot, truth: Truth) -> Floor:
    less = np.clip(truth.number("floor_friction"), 0, LARGEST)
    softer = 1 + truth.number("floor_softness")
    floor = robot.floor
    return replace(floor, friction=floor.friction * (1 - less), softness=floor.softness * softer)


def _finite_effort(robot: Robot) -> np.ndarray:
    """Torque limits, or where a joint has none what its gain gives for half a radian."""
    effort, kp = robot.joints.effort, robot.joints.kp
    return np.where((effort > 0) & np.isfinite(effort), effort, np.maximum(kp / 2, 1e-3))


def _finite_speed(robot: Robot) -> np.ndarray:
    speed = robot.joints.velocity
    return np.where((speed > 0) & np.isfinite(speed), speed, 10.0)
