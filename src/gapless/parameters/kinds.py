"""The kinds of parameters: unit, where each lives, what it usually is, how far it is usually off.

A kind is the word before the slash in "kp/left_elbow_joint" or "mass/torso_link".
"""

from __future__ import annotations

import numpy as np

from gapless.parameters.contact_kinds import CONTACT_KINDS
from gapless.parameters.holding import heaviest_load, strength
from gapless.parameters.imu_kinds import IMU_KINDS
from gapless.parameters.kind import JOINT, LINK, Kind, Reader, Sizer, around, number, times
from gapless.robots import Payload, Robot
from gapless.worlds.effects import IMU, Effects

AXES = ("x", "y", "z")
PLANES = ("xy", "xz", "yz")


def _of_joints(field: str) -> Reader:
    return lambda robot, _, joint: float(getattr(robot.joints, field)[robot.joints.index(joint)])


def _of_effects(field: str) -> Reader:
    def read(robot: Robot, effects: Effects, joint: str) -> float:
        values = np.broadcast_to(getattr(effects, field), len(robot.joints))
        return float(values[robot.joints.index(joint)])

    return read


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


def _joint_kinds() -> list[Kind]:
    damping, dry = _usual(0.02), _usual(0.02, "strength")
    rotor = _usual(3e-4)
    return [
        Kind(
            *("kp", "N·m/rad", JOINT, _of_joints("kp"), times(0.3), times(0.05), times(20.0)),
            log=True,
        ),
        Kind("kd", "N·m·s/rad", JOINT, _of_joints("kd"), damping, number(0), _larger(damping, 20)),
        Kind(
            *("armature", "kg·m²", JOINT, _of_joints("armature"), rotor),
            *(number(0.0), _larger(rotor, 30)),
        ),
        Kind(
            *("damping", "N·m·s/rad", JOINT, _of_joints("damping"), damping),
            *(number(0.0), _larger(damping, 30)),
        ),
        Kind(
            *("frictionloss", "N·m", JOINT, _of_joints("frictionloss"), dry),
            *(number(0.0), _share_of_strength(0.5)),
        ),
        Kind(
            *("effort", "N·m", JOINT, _of_joints("effort"), times(0.3)),
            *(times(0.05), times(5.0)),
            # A limit that is not reached has no slope: it is looked for well below.
            step=-0.6,
            log=True,
        ),
        Kind(  # what a motor makes of the torque it was asked for: gains and limit alike
            *("strength", "1", JOINT, lambda *_: 1.0, number(0.3), number(0.05), number(5.0)),
            log=True,
        ),
        Kind(  # what a drive makes of a kd that a log states, though the model may have none
            *("kd_ratio", "1", JOINT, lambda *_: 1.0, number(0.5), number(0.05), number(5.0)),
            log=True,
        ),
    ]


def _effect_kinds() -> list[Kind]:
    dry, limit = _usual(0.02, "strength"), _share_of_strength(0.5)
    zero = number(0.0)

    def kind(
        name: str, unit: str, prior_std: Sizer, lower: Sizer, upper: Sizer, step: float = 0.002
    ) -> Kind:
        return Kind(name, unit, JOINT, _of_effects(name), prior_std, lower, upper, step)

    return [
        # A delay acts smoothly only within a physics step.
        kind("delay", "s", number(0.01), zero, number(0.15), step=0.05),
        kind("encoder_bias", "rad", number(0.05), around(-0.5), around(0.5)),
        kind("stribeck_torque", "N·m", dry, zero, limit),
        kind("stribeck_speed", "rad/s", number(0.1), number(0.01), number(2.0)),
        kind("load_friction", "1", number(0.1), zero, number(0.9)),
        # A motor can lose no more than its torque; what a load must overcome has no such end.
        kind("backdrive_friction", "1", number(0.1), number(-0.9), number(5.0)),
        kind("quadratic_friction", "1/(N·m)", _per_strength(0.1), zero, _per_strength(2.0)),
        kind("backlash", "rad", number(0.01), zero, number(0.2)),
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
            *("mass", "kg", LINK, lambda robot, _, link: robot.inertia(link).mass, times(0.3)),
            *(times(0.05), lambda robot, link, m: m + _heaviest(robot, link, m)),
            log=True,
        ),
        Kind(
            *("payload", "kg", LINK, lambda robot, _, link: _carried(robot, link).mass),
            *(lambda *at: 0.05 * _heaviest(*at), number(0.0), _heaviest),
        ),
    ]
    for i, axis in enumerate(AXES):
        kinds.append(
            Kind(
                *(f"com_{axis}", "m", LINK),
                lambda robot, _, link, i=i: robot.inertia(link).com[i],
                *(number(0.03), around(-0.3), around(0.3)),
            )
        )
        kinds.append(
            Kind(
                *(f"payload_{axis}", "m", LINK, _load_centre(i)),
                *(number(0.1), around(-0.5), around(0.5)),
            )
        )
    shapes = [*(f"stretch_{a}" for a in AXES), *(f"shear_{p}" for p in PLANES)]
    none: Reader = lambda *_: 0.0  # noqa: E731
    kinds += [Kind(s, "1", LINK, none, number(0.3), number(-2.0), number(2.0)) for s in shapes]
    return kinds


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in [
        *_joint_kinds(),
        *_effect_kinds(),
        *_link_kinds(),
        *CONTACT_KINDS,
        *IMU_KINDS,
    ]
}
"""Every kind by its word."""

JOINT_FIELDS = ("kp", "kd", "armature", "damping", "frictionloss", "effort")
JOINT_SHARES = ("strength", "kd_ratio")
EFFECT_FIELDS = (
    *(k for k in KINDS if KINDS[k].place == JOINT and k not in (*JOINT_FIELDS, *JOINT_SHARES)),
    *IMU,
)
