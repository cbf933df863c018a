"""The rungs of a ladder of models: what is freed, and in which order.

Few parameters that many joints share come first: little data finds them, and what they explain
nothing else has to. Later rungs free more; each is kept only where it helps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.identification.plans.balance_figures import INERTIAL, TILT
from gapless.identification.plans.resting_surface import RestingSurface
from gapless.parameters.parameter_names import base_link
from gapless.recordings.recording import Recording
from gapless.robots import Robot
from gapless.worlds.effects import IMU

BELOW, NOMINAL = "below", "nominal"
"""Where the fit of a rung may begin: what the rung below found, or the robot's own model."""


@dataclass(frozen=True)
class Rung:
    """One step of the ladder.

    Attributes:
        name: for people.
        adds: kind -> parameters of it; they replace what an earlier rung had of that kind.
        alone: whether it is fitted with all else as the rung below left it.
        starts: from where it is fitted; of several, the choosing motions take the best.
    """

    name: str
    adds: Mapping[str, tuple[str, ...]]
    alone: bool = False
    starts: tuple[str, ...] = (BELOW,)

    def on(self, below: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        """Kind -> parameters, with those of the rungs below."""
        return {**below, **self.adds}


def rungs_for(
    robot: Robot, recordings: Sequence[Recording], surface: RestingSurface | None = None
) -> tuple[Rung, ...]:
    """The ladder that suits a robot and what was recorded of it.

    Args:
        robot: the nominal one.
        recordings: what teaches.
        surface: that they show the robot to rest on, if any.
    """
    loaded = stated_loads(recordings)
    # Loads bring motors to their limits, which a motor's strength scales with its gains.
    gain = "strength" if loaded else "kp"
    damper = _damper(robot, recordings)
    # What a motor brakes by itself and what rubs look alike, and no friction is less than none.
    brake = damper if damper == "kd_ratio" else "damping"
    drive = (gain, brake, "frictionloss", "armature")
    first = [_rung("by motor type", *(f"{k}@motors" for k in drive), "delay@all")]
    zeros = [_rung("encoder bias", "encoder_bias")]
    rubs = [
        _rung("load friction", "load_friction@motors"),
        _rung("quadratic load friction", "quadratic_friction@motors"),
        _rung("Stribeck friction", "stribeck_torque@motors"),
    ]
    # A leg that carries the robot rubs more: told late, each joint would have got the friction of
    # the loads it happened to bear, and a kick bears others.
    early, late = (rubs, []) if robot.mount == "free" else ([], rubs)
    sensed = _sensed(robot, recordings)
    if robot.mount == "free":
        # ASAP's set: the base, and one ratio for all gains. A tilted IMU starts every replay with
        # a robot that leans, and a soft floor lets it lean further: mass centres and soft gains
        # would answer for both. A base that was estimated stands on the floor as the model has it.
        root = (f"{kind}/root" for kind in INERTIAL)
        tilt = (name for name in sensed if name in TILT)
        soft = ["floor_softness"] if all("base_pos" in r.channels for r in recordings) else []
        names = (*root, f"{gain}@all", f"{damper}@all", "delay@all", *tilt, *soft)
        # Where drives rub, one ratio for all gains may go far wrong, and a light base with it: what
        # begins there may not come back.
        first = [
            _rung("base and gain ratios", *names),
            # Where feet alone say how the robot leans, wrong zeros are a wrong lean from the start.
            *([] if _leans(recordings) else zeros),
            replace(first[0], starts=(NOMINAL, BELOW)),
        ]
    return (
        *first,
        *([_rung("IMU", *sensed)] if sensed else []),
        # Early: what a surface holds, no later rung must explain by friction or wrong zeros.
        *([replace(_rung("surface", *surface.starts), alone=True)] if surface else []),
        *early,
        _rung("each joint", *drive),
        *([_rung("held load", *_held(loaded))] if loaded else []),
        *(zeros if zeros[0] not in first else []),
        *late,
        _rung("backlash", "backlash@motors"),
        *([_rung("floor friction", "floor_friction")] if robot.mount == "free" else []),
        *([_rung("torque limits", "effort@motors")] if _limited(robot) and not loaded else []),
        *([] if loaded else [_rung("masses", *_masses(robot))]),
    )


def _rung(name: str, *parameters: str) -> Rung:
    adds: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        kind = parameter.partition("@")[0].partition("/")[0]
        adds[kind] = (*adds.get(kind, ()), parameter)
    return Rung(name, adds)


def _damper(robot: Robot, recordings: Sequence[Recording]) -> str:
    """The kind that scales the damping gain: a ratio where logs state one that the model lacks."""
    stated = any(kd > 0 for r in recordings for _, kd in r.conditions.gains.values())
    return "kd_ratio" if stated and not robot.joints.kd.any() else "kd"


def _sensed(robot: Robot, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Errors of the IMU that what was logged can tell."""
    if robot.mount != "free":
        return ()
    logged = {channel for r in recordings for channel in r.channels}
    tilt = TILT if logged & {"base_quat_wxyz", "imu_quat_wxyz"} else ()
    gyro = IMU[2:] if logged & {"base_ang_vel_b", "imu_gyro"} else ()
    return (*tilt, *gyro)


def _leans(recordings: Sequence[Recording]) -> bool:
    """Whether a log says how its robot leans."""
    said = {"base_quat_wxyz", "imu_quat_wxyz", "imu_acc", "imu_gyro"}
    return any(channel in said for r in recordings for channel in r.channels)


def _held(links: Sequence[str]) -> list[str]:
    """A load sits at the mass centre of the link that holds it."""
    return [f"{kind}/{link}" for link in links for kind in INERTIAL]


def _masses(robot: Robot) -> tuple[str, ...]:
    """Of every link; on the floor those of both sides are one, and the torso alone has a centre."""
    if robot.mount != "free":
        return INERTIAL
    centres = (f"{kind}/{link}" for link in _torso(robot) for kind in INERTIAL[1:])
    return "mass@sides", *centres


def _torso(robot: Robot) -> list[str]:
    """Root and torso: what is heavy and was built in most ways."""
    root = base_link(robot)
    return [root, *(k for k in robot.links if "torso" in k and k != root)]


def _limited(robot: Robot) -> bool:
    effort = robot.joints.effort[np.array(robot.joints.actuated)]
    return bool((np.isfinite(effort) & (effort > 0)).all())


def stated_loads(recordings: Sequence[Recording]) -> list[str]:
    """Links that recordings say carry something."""
    carried = [r.conditions.payloads or {} for r in recordings]
    return list(dict.fromkeys(link for p in carried for link, load in p.items() if load.mass))
