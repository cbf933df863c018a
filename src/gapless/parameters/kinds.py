"""The kinds of parameters: unit, where each lives, what it usually is, how far it is usually off.

A kind is the word before the slash in "kp/left_elbow_joint" or "mass/torso_link".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gapless.errors import ModelError
from gapless.parameters.holding import heaviest_load, strength
from gapless.robots import Payload, Robot
from gapless.worlds.effects import IMU, Effects

JOINT, LINK, WORLD = "joint", "link", "world"
AXES = ("x", "y", "z")
PLANES = ("xy", "xz", "yz")

Reader = Callable[[Robot, Effects, str], float]
"""The nominal figure at a place."""

Sizer = Callable[[Robot, str, float], float]
"""An expected size at a place (robot, place, nominal figure)."""


@dataclass(frozen=True)
class Kind:
    """One kind of number.

    Attributes:
        name: the word.
        unit: of the value.
        place: "joint", "link" or "world": what the word after the slash names.
        nominal: the figure before anything is known.
        prior_std: expected error of that figure, 1 sigma.
        lower: smallest value that makes sense.
        upper: largest value that makes sense.
        step: finite-difference step, as a share of the prior std, downwards where negative; a wide
            one would take curvature for information about what cannot be told apart.
        log: whether errors are ratios: half is as far off as twice.
    """

    name: str
    unit: str
    place: str
    nominal: Reader
    prior_std: Sizer
    lower: Sizer
    upper: Sizer
    step: float = 0.002
    log: bool = False


def _of_joints(field: str) -> Reader:
    return lambda robot, _, joint: float(getattr(robot.joints, field)[robot.joints.index(joint)])


def _of_effects(field: str) -> Reader:
    def read(robot: Robot, effects: Effects, joint: str) -> float:
        values = np.broadcast_to(getattr(effects, field), len(robot.joints))
        return float(values[robot.joints.index(joint)])

    return read


def _number(value: float) -> Sizer:
    return lambda *_: value


def _around(reach: float) -> Sizer:
    return lambda _, __, nominal: nominal + reach


def _times(factor: float) -> Sizer:
    return lambda _, __, nominal: factor * nominal


def _usual(share: float, of: str = "kp") -> Sizer:
    """The nominal figure, or a share of the gain (or strength) where that is larger."""

    def size(robot: Robot, joint: str, nominal: float) -> float:
        gain = float(robot.joints.kp[robot.joints.index(joint)]) or 1.0
        return max(nominal, share * (gain if of == "kp" else strength(robot, joint)))

    return size


def _share_of_strength(share: float) -> Sizer:
    return lambda robot, joint, nominal: max(share * strength(robot, joint), 10 * nominal)


def _larger(size: Sizer, factor: float) -> Sizer:
    return lambda robot, place, nominal: factor * size(robot, place, nominal)


def _carried(robot: Robot, link: str) -> Payload:
    return robot.payloads.get(link, Payload(0.0))


def _heaviest(robot: Robot, link: str, nominal: float) -> float:
    return max(heaviest_load(robot, link), 2 * nominal)


def _load_centre(axis: int) -> Reader:
    def read(robot: Robot, _: Effects, link: str) -> float:
        at = _carried(robot, link).com
        return float((robot.inertia(link).com if at is None else at)[axis])

    return read


def _floor(robot: Robot, _: Effects, __: str) -> float:
    if robot.mount != "free":
        raise ModelError(
            f"floor_friction has no place in {robot.name!r} mounted {robot.mount!r}: it meets no "
            "floor; use mount 'free', or leave the parameter out"
        )
    return robot.floor.friction


def _imu(field: str) -> Reader:
    def read(robot: Robot, effects: Effects, _: str) -> float:
        if robot.mount != "free":
            raise ModelError(
                f"{field} has no place in {robot.name!r} mounted {robot.mount!r}: its base does "
                "not move; use mount 'free', or leave the parameter out"
            )
        return float(getattr(effects, field))

    return read


def _world_kinds() -> list[Kind]:
    tilts = ("imu_roll", "imu_pitch")
    return [
        Kind(
            *("floor_friction", "1", WORLD, _floor),
            *(_number(0.3), _number(0.02), _number(3.0)),
        ),
        *(
            Kind(
                *(name, "rad" if name in tilts else "rad/s", WORLD, _imu(name)),
                *(_number(0.02), _number(-0.3), _number(0.3)),
            )
            for name in IMU
        ),
    ]


def _joint_kinds() -> list[Kind]:
    damping, dry = _usual(0.02), _usual(0.02, "strength")
    rotor = _usual(3e-4)
    return [
        Kind(
            *("kp", "N·m/rad", JOINT, _of_joints("kp"), _times(0.3), _times(0.05), _times(20.0)),
            log=True,
        ),
        Kind("kd", "N·m·s/rad", JOINT, _of_joints("kd"), damping, _number(0), _larger(damping, 20)),
        Kind(
            *("armature", "kg·m²", JOINT, _of_joints("armature"), rotor),
            *(_number(0.0), _larger(rotor, 30)),
        ),
        Kind(
            *("damping", "N·m·s/rad", JOINT, _of_joints("damping"), damping),
            *(_number(0.0), _larger(damping, 30)),
        ),
        Kind(
            *("frictionloss", "N·m", JOINT, _of_joints("frictionloss"), dry),
            *(_number(0.0), _share_of_strength(0.5)),
        ),
        Kind(
            *("effort", "N·m", JOINT, _of_joints("effort"), _times(0.3)),
            *(_times(0.05), _times(5.0)),
            # A limit that is not reached has no slope: it is looked for well below.
            step=-0.6,
            log=True,
        ),
        Kind(  # what a motor makes of the torque it was asked for: gains and limit alike
            *("strength", "1", JOINT, lambda *_: 1.0, _number(0.3), _number(0.05), _number(5.0)),
            log=True,
        ),
    ]


def _effect_kinds() -> list[Kind]:
    dry, limit = _usual(0.02, "strength"), _share_of_strength(0.5)
    zero = _number(0.0)

    def kind(
        name: str, unit: str, prior_std: Sizer, lower: Sizer, upper: Sizer, step: float = 0.002
    ) -> Kind:
        return Kind(name, unit, JOINT, _of_effects(name), prior_std, lower, upper, step)

    return [
        # A delay acts smoothly only within a physics step.
        kind("delay", "s", _number(0.01), zero, _number(0.15), step=0.05),
        kind("encoder_bias", "rad", _number(0.05), _around(-0.5), _around(0.5)),
        kind("stribeck_torque", "N·m", dry, zero, limit),
        kind("stribeck_speed", "rad/s", _number(0.1), _number(0.01), _number(2.0)),
        kind("load_friction", "1", _number(0.1), zero, _number(0.9)),
        # A motor can lose no more than its torque; what a load must overcome has no such end.
        kind("backdrive_friction", "1", _number(0.1), _number(-0.9), _number(5.0)),
        kind("quadratic_friction", "1/(N·m)", _per_strength(0.1), zero, _per_strength(2.0)),
        kind("backlash", "rad", _number(0.01), zero, _number(0.2)),
        kind("compliance", "rad/(N·m)", _inverse_gain(0.1), zero, _inverse_gain(5.0), step=0.005),
    ]


def _per_strength(share: float) -> Sizer:
    """What is this share of the torque at full strength, and grows with its square."""
    return lambda robot, joint, _: share / strength(robot, joint)


def _inverse_gain(share: float) -> Sizer:
    return lambda robot, joint, _: (
        share / (float(robot.joints.kp[robot.joints.index(joint)]) or 1.0)
    )


def _link_kinds() -> list[Kind]:
    kinds = [
        Kind(
            *("mass", "kg", LINK, lambda robot, _, link: robot.inertia(link).mass, _times(0.3)),
            *(_times(0.05), lambda robot, link, m: m + _heaviest(robot, link, m)),
            log=True,
        ),
        Kind(
            *("payload", "kg", LINK, lambda robot, _, link: _carried(robot, link).mass),
            *(lambda *at: 0.05 * _heaviest(*at), _number(0.0), _heaviest),
        ),
    ]
    for i, axis in enumerate(AXES):
        kinds.append(
            Kind(
                *(f"com_{axis}", "m", LINK),
                lambda robot, _, link, i=i: robot.inertia(link).com[i],
                *(_number(0.03), _around(-0.3), _around(0.3)),
            )
        )
        kinds.append(
            Kind(
                *(f"payload_{axis}", "m", LINK, _load_centre(i)),
                *(_number(0.1), _around(-0.5), _around(0.5)),
            )
        )
    shapes = [*(f"stretch_{a}" for a in AXES), *(f"shear_{p}" for p in PLANES)]
    none: Reader = lambda *_: 0.0  # noqa: E731
    kinds += [Kind(s, "1", LINK, none, _number(0.3), _number(-2.0), _number(2.0)) for s in shapes]
    return kinds


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in [
        *_joint_kinds(),
        *_effect_kinds(),
        *_link_kinds(),
        *_world_kinds(),
    ]
}
"""Every kind by its word."""

JOINT_FIELDS = ("kp", "kd", "armature", "damping", "frictionloss", "effort")
EFFECT_FIELDS = (
    *(k for k in KINDS if KINDS[k].place == JOINT and k not in (*JOINT_FIELDS, "strength")),
    *IMU,
)
