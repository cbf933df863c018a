"""A robot that stands: its feet stay where they are, its body moves over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.errors import DataError
from gapless.motions.collisions import overlaps
from gapless.motions.excitation import multisine
from gapless.motions.inverse_kinematics import follow
from gapless.motions.limb import limb_of
from gapless.motions.motion import Motion
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics

MISS = 0.005
"""A foot may slip this far from its place, m."""
SQUATS = 0.3, 0.7
"""Squats a second, Hz."""
SIZES = 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.0
"""Sizes of the arms' swing that are tried."""
LOOKS = 50.0
"""How often the arms are looked at while they swing, Hz."""
FLAT = 1.0
"""Weight of a foot's orientation: as much as its place."""


def stand(
    robot: Robot,
    seconds: float,
    rate: float | None = None,
    *,
    seed: int = 0,
    depth: float = 0.05,
    sway: float = 0.01,
    amplitude: float = 0.3,
) -> Motion:
    """Squat and sway over planted feet while the arms swing.

    Args:
        robot: one with feet.
        seconds: length.
        rate: samples per second; the robot's own by default.
        seed: of frequencies and phases.
        depth: of the squats, m.
        sway: of the body, forwards and sideways, m.
        amplitude: of the arms' swing, as in `multisine`.
    """
    rate = float(robot.rate if rate is None else rate)
    if not (0 < rate < np.inf and 2 / rate <= seconds < np.inf):
        raise DataError(f"{seconds} s at {rate} Hz is no motion; give two samples or more")
    feet = _feet(robot)
    if not feet:
        raise DataError(
            f"{robot.name} has no feet, so it cannot stand: it is held and names no link group "
            "'feet', or has no shape that can touch the floor"
        )
    time = np.arange(round(seconds * rate)) / rate
    body = _body_path(time, depth, sway, np.random.default_rng(seed))
    hung = robot.with_mount("fixed")
    kinematics = Kinematics.of(hung)
    home = kinematics.points(robot.joints.default, points=feet)[0]
    waves = multisine(robot, seconds, rate, seed=seed, amplitude=amplitude)
    q = _swing(robot, waves, max(1, round(rate / LOOKS)))
    for foot, place in zip(feet, home, strict=True):
        leg = robot.joints.pick(limb_of(robot, foot).joints)
        q[:, leg] = follow(hung, foot, place - body, FLAT if len(leg) >= 6 else 0.0)[:, leg]
    _require_planted(kinematics, feet, q, home - body[:, None], robot.name)
    return Motion(f"stand_{seed}", robot.joints.names, rate, q, source=f"stand, seed {seed}")


def sway(
    robot: Robot, seconds: float, rate: float | None = None, *, seed: int = 0, reach: float = 0.02
) -> Motion:
    """Sway by `reach` (m) with still arms and no squats: to judge what was learned on `stand`."""
    found = stand(robot, seconds, rate, seed=seed, depth=0.0, sway=reach, amplitude=0.0)
    return replace(found, name=f"sway_{seed}", source=f"sway, seed {seed}")


def _feet(robot: Robot) -> list[TrackingPoint]:
    """What touches the floor: the ends of the feet where they are known, else their origins."""
    ends = {point.body: point for point in robot.end_effectors}
    return [ends.get(f, TrackingPoint(f, f)) for f in robot.feet]


def _swing(robot: Robot, waves: np.ndarray, every: int) -> np.ndarray:
    """The waves in the arms only, made smaller until no arm touches the body."""
    default, arms = robot.joints.default, robot.joints.pick(robot.joint_groups.get("arms", ()))
    q = np.tile(default, (len(waves), 1))
    for size in SIZES:
        q[:, arms] = default[arms] + size * (waves - default)[:, arms]
        if all((depth <= 0).all() for depth in overlaps(robot, q[::every]).values()):
            break
    return q


def _body_path(time: np.ndarray, depth: float, sway: float, rng: np.random.Generator) -> np.ndarray:
    """(T, 3) displacement of the body from home, m; it begins and ends there, at rest."""
    fade = np.clip(np.minimum(time, time[-1] - time), 0, 1)
    fade = fade**2 * (3 - 2 * fade)
    down = 0.5 * depth * (1 - np.cos(2 * np.pi * rng.uniform(*SQUATS) * time))
    sides = [sway * np.sin(2 * np.pi * (rng.uniform(*SQUATS) * time + rng.uniform())) for _ in "xy"]
    return fade[:, None] * np.stack([*sides, -down], axis=1)


def _require_planted(
    kinematics: Kinematics, feet: list[TrackingPoint], q: np.ndarray, places: np.ndarray, name: str
) -> None:
    slip = np.linalg.norm(kinematics.points(q, points=feet) - places, axis=2)
    if slip.max() > MISS:
        foot = feet[int(slip.max(axis=0).argmax())].name
        raise DataError(
            f"{foot} of {name} cannot stay on the floor: it slips {1000 * slip.max():.0f} mm, "
            f"at most {1000 * MISS:.0f} mm are allowed; give a smaller depth or sway"
        )
