"""Figures that decide how a robot balances, which replays of half a second cannot tell apart.

A zero of a leg that is off, an IMU that sits askew and a mass that is elsewhere do the same to a
short replay. A policy that balances answers each of them differently.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.identification.calibration import Calibration
from gapless.identification.estimate import Estimate, nominal_figures
from gapless.parameters import Parameter, parameters_of
from gapless.robots import Kinematics, Robot
from gapless.worlds.effects import IMU, Effects

TILT = IMU[:2]
"""How an IMU sits in the base."""
INERTIAL = ("mass", "com_x", "com_y", "com_z")


def with_balance_figures(found: Calibration, robot: Robot) -> Calibration:
    """The same, and at their priors those of the figures that it lacks: known no better.

    A robot that is held does not balance, and lacks none.
    """
    if robot.mount != "free":
        return found
    known = {(e.parameter.kind, p) for e in found.estimates for p in e.parameter.places or ("",)}
    wanted = parameters_of(robot, balance_names(robot))
    lacking = [p for p in wanted if not known & {(p.kind, q) for q in p.places or ("",)}]
    own = nominal_figures(robot, Effects(), lacking)
    new = [_unknown(p, nominal) for p, nominal in zip(lacking, own, strict=True)]
    correlation = np.eye(len(found.estimates) + len(new))
    correlation[: len(found.estimates), : len(found.estimates)] = found.correlation
    return replace(found, estimates=(*found.estimates, *new), correlation=correlation)


def balance_names(robot: Robot) -> list[str]:
    """Zeros of the joints that carry, how the IMU sits, and the heaviest link's mass and centre."""
    heaviest = max(robot.links, key=lambda link: robot.inertia(link).mass)
    zeros = [f"encoder_bias/{joint}" for joint in carrying_joints(robot, heaviest)]
    return [*zeros, *TILT, *(f"{kind}/{heaviest}" for kind in INERTIAL)]


def carrying_joints(robot: Robot, heaviest: str) -> list[str]:
    """Joints between the feet and the root, and between the root and the heaviest link."""
    kinematics, carry = Kinematics.of(robot), set[str]()
    for link in (*robot.feet, heaviest):
        i = kinematics.links.index(link)
        while i >= 0:
            carry.add(kinematics.links[i])
            i = kinematics.parents[i]
    return [joint for joint, link in kinematics.moved.items() if link in carry]


def _unknown(parameter: Parameter, nominal: tuple[float, ...]) -> Estimate:
    return Estimate(parameter, parameter.prior, parameter.prior_std, False, False, nominal)
