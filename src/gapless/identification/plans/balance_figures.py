"""Figures that decide how a robot balances, which replays of half a second cannot tell apart.

A zero of a leg that is off, an IMU that sits askew and a mass that is elsewhere do the same to a
short replay. A policy that balances answers each of them differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate, nominal_figures
from gapless.parameters import Parameter
from gapless.parameters.parameter_names import base_link
from gapless.robots import Kinematics, Robot
from gapless.worlds.effects import IMU, Effects

TILT = IMU[:2]
"""How an IMU sits in the base."""
INERTIAL = ("mass", "com_x", "com_y", "com_z")


def with_balance_figures(
    found: Calibration, robot: Robot, wanted: Sequence[Parameter]
) -> Calibration:
    """The same, and at their priors those of some figures that it lacks: nobody knows them yet."""
    known = {(e.parameter.kind, p) for e in found.estimates for p in e.parameter.places or ("",)}
    lacking = [p for p in wanted if not known & {(p.kind, q) for q in p.places or ("",)}]
    own = nominal_figures(robot, Effects(), lacking)
    new = [
        Estimate(p, p.prior, p.prior_std, False, False, nominal)
        for p, nominal in zip(lacking, own, strict=True)
    ]
    correlation = np.eye(len(found.estimates) + len(new))
    correlation[: len(found.estimates), : len(found.estimates)] = found.correlation
    return replace(found, estimates=(*found.estimates, *new), correlation=correlation)


def balance_names(robot: Robot) -> list[str]:
    """Zeros of the joints that carry, how the IMU sits, and mass and centre of the torso.

    None of a robot that is held: it does not balance.
    """
    if robot.mount != "free":
        return []
    torso = next((link for link in robot.links if "torso" in link), base_link(robot))
    zeros = [f"encoder_bias/{joint}" for joint in carrying_joints(robot, torso)]
    return [*zeros, *TILT, *(f"{kind}/{torso}" for kind in INERTIAL)]


def carrying_joints(robot: Robot, torso: str) -> list[str]:
    """Joints between the feet and the root, and between the root and the torso."""
    kinematics, carry = Kinematics.of(robot), set[str]()
    for link in (*robot.feet, torso):
        i = kinematics.links.index(link)
        while i >= 0:
            carry.add(kinematics.links[i])
            i = kinematics.parents[i]
    return [joint for joint, link in kinematics.moved.items() if link in carry]
