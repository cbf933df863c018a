"""A foot, or a hand, on the surface of an ellipsoid: broad excitation of one limb at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

from gapless.errors import DataError, unknown
from gapless.motions.inverse_kinematics import follow
from gapless.motions.limb import Limb, limb_of
from gapless.motions.motion import Motion
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics

if TYPE_CHECKING:
    from gapless.robots.tree import Vector

MISS = 0.005
"""The foot may be this far from where it should be, m."""
SOLVED_RATE = 100.0
"""Poses a second that are solved for at most, Hz; faster clocks are interpolated."""
SHARES = 0.1, 0.06, 0.08
"""Default radii as shares of the limb's length."""
RATES = 2.0, 2.0 * (1 + 5**0.5) / 2
"""Default rates of the two angles, rad/s; their ratio is irrational, so no path is repeated."""
TURNS = np.pi, np.pi / 2
"""Default swing of the two angles: all round, and from pole to pole, rad either way."""


def ellipsoid(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    foot: str | None = None,
    radii: Vector | None = None,
    rates: Vector = RATES,
    amplitudes: Vector | None = None,
    centre: Vector | None = None,
    seed: int = 0,
) -> Motion:
    """Move a foot over an ellipsoid, as the residual-dynamics paper excites a leg.

    The angles are phi = phi0 + A/w (1 - cos w t) and theta alike, so the foot starts at rest. The
    root is fixed; joints that do not carry the foot stay at the default pose. The foot stays level
    as far as its joints allow. Speeds and torques are for `check_motion` to judge.

    Args:
        robot: which robot.
        seconds: length.
        rate: samples per second; the robot's own by default.
        foot: "left", "right", a link or an end effector; the first foot by default, or the first
            end effector of a robot without feet.
        radii: of the ellipsoid along x, y and z, m; by default a tenth of the limb or less.
        rates: of the two angles, rad/s.
        amplitudes: highest speeds of the two angles, rad/s; by default they go all round.
        centre: in the world, m, the robot in its default place; by default the place of the foot
            in the default pose, drawn towards the limb's root so that all can be reached.
        seed: of the angles at the start.
    """
    rate = float(rate or robot.rate)
    if not (0 < rate < np.inf and 2 / rate <= seconds < np.inf):
        raise DataError(f"{seconds} s at {rate} Hz is no motion; give two samples or more")
    limb = limb_of(robot, _point(robot, foot))
    size = np.multiply(SHARES, limb.length) if radii is None else _three("radii", radii)
    middle = _default_centre(limb, size) if centre is None else _three("centre", centre)
    speeds = np.multiply(TURNS, rates) if amplitudes is None else np.asarray(amplitudes, float)
    angles = _angles(np.arange(round(seconds * rate)) / rate, np.asarray(rates), speeds, seed)
    path = middle + size * _on_sphere(*angles.T)
    q = _follow(robot, limb, path, rate)
    _require_reached(robot, limb, q, path, rate)
    source = f"ellipsoid of {limb.point.name}, radii {np.round(size, 4).tolist()} m, seed {seed}"
    own = q[:, robot.joints.pick(limb.joints)]
    return Motion(f"ellipsoid_{limb.point.name}", limb.joints, rate, own, source=source)


def _angles(time: np.ndarray, rates: np.ndarray, speeds: np.ndarray, seed: int) -> np.ndarray:
    """(T, 2) azimuth and height on the sphere, starting at rest."""
    if rates.shape != (2,) or speeds.shape != (2,) or not (rates > 0).all():
        raise DataError("give two rates above 0 and two amplitudes, rad/s")
    start = np.random.default_rng(seed).uniform(-np.pi, np.pi, 2)
    return start + speeds / rates * (1 - np.cos(rates * time[:, None]))


def _on_sphere(phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    level = np.cos(theta)
    return np.stack([level * np.cos(phi), level * np.sin(phi), np.sin(theta)], axis=1)


def _three(name: str, values: Vector) -> np.ndarray:
    array = np.asarray(values, float)
    if array.shape != (3,) or not np.isfinite(array).all() or (name == "radii" and array.min() < 0):
        raise DataError(f"{name} is {values}; give three numbers, in metres")
    return array


def _default_centre(limb: Limb, size: np.ndarray) -> np.ndarray:
    inwards = limb.top - limb.home
    return limb.home + 1.5 * size.max() * inwards / np.linalg.norm(inwards)


def _point(robot: Robot, name: str | None) -> TrackingPoint:
    """The point that is moved: an end effector, or the origin of a link."""
    feet = robot.feet
    ends = {p.name: p for p in robot.end_effectors}
    on_link = {p.body: p for p in robot.end_effectors}
    sides: dict[str, str] = {"left": feet[0], "right": feet[1]} if len(feet) == 2 else {}
    link = name or next(iter((*feet, *ends)), robot.links[-1])
    link = sides.get(link, link)
    if link in ends:
        return ends[link]
    if link not in robot.links:
        raise unknown("foot", link, (*sides, *ends, *robot.links))
    return on_link.get(link, TrackingPoint(link, link))


def _follow(robot: Robot, limb: Limb, path: np.ndarray, rate: float) -> np.ndarray:
    """(T, J) poses that put the point on the path, solved at a modest rate and interpolated."""
    every = int(np.ceil(rate / SOLVED_RATE))
    time = np.arange(len(path))
    knots = np.unique([*time[::every], time[-1]])
    q = follow(robot, limb.point, path[knots])
    return q if every == 1 else CubicSpline(knots, q)(time)


def _require_reached(
    robot: Robot, limb: Limb, q: np.ndarray, path: np.ndarray, rate: float
) -> None:
    hung = robot.with_mount("fixed")
    found = Kinematics.of(hung).points(q, points=[limb.point])[:, 0]
    miss = np.linalg.norm(found - path, axis=1)
    worst = int(miss.argmax())
    if miss[worst] > MISS:
        place = ", ".join(f"{x:.3f}" for x in path[worst])
        raise DataError(
            f"{limb.point.name!r} of {robot.name} cannot follow the ellipsoid: at "
            f"{worst / rate:.2f} s it is {1000 * miss[worst]:.0f} mm from ({place}) m, at most "
            f"{1000 * MISS:.0f} mm are allowed; give smaller radii or another centre"
        )
