"""Feet that stand still while they stand, flat and on the floor; and none below it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d

from gapless.motions.retargeting.body_fit import BodyFit
from gapless.motions.retargeting.person import SIDES
from gapless.motions.retargeting.pose_fit import FittedPoses, PoseTargets
from gapless.motions.retargeting.stances import stretches
from gapless.motions.soles import Soles, soles_of
from gapless.robots import Robot
from gapless.robots.rotations import about, conj, mul, rotate
from gapless.worlds.world import State

FIRM, FLAT = 4.0, 0.2
"""Weights of the place of a standing foot, and of its turn, m/rad."""
LEAVE = 0.25
"""Seconds after which a foot that stood goes its own way again."""
RAMP = 0.1
"""Seconds in which a foot comes to stand."""
NEAR, NEAREST = 0.025, 0.004
"""A point that is so far from the person's, m, counts 1; nearer than the other none counts more."""
USUAL = 0.5
"""Seconds over which it is said how far a point is."""
CLEAR = 0.002
"""Depth below the floor that is left alone, m."""
SWING, FAST = 0.025, (0.15, 0.4)
"""How high the sole of a foot is that moves, m, and the speeds between which it comes to that,
m/s: a foot that passes lower slides."""


def planted(
    fit: BodyFit, poses: FittedPoses, stands: np.ndarray, level: float, turns: np.ndarray
) -> PoseTargets:
    """What is asked for with feet that stand still.

    Args:
        fit: of the person.
        poses: the robot without any repair.
        stands: (T, 2) which feet stand.
        level: height of the ankle of a foot flat on the floor, m.
        turns: (T, 2, 4) of the feet in `poses`.
    """
    targets, seen = fit.targets, fit.places(poses)
    places, weights = targets.places.copy(), _reweighted(fit, targets, seen)
    wanted, turn_weights = targets.turns.copy(), targets.turn_weights.copy()
    for k, side in enumerate(SIDES):
        ankle = fit.keys.index(f"{side}_ankle")
        moved = _anchored(seen[:, ankle], stands[:, k], level, fit.person.rate)
        share = _ramped(stands[:, k], fit.person.rate)
        own = places[:, ankle].copy()
        places[:, ankle] = seen[:, ankle] + moved
        weights[:, ankle] += share * (FIRM - weights[:, ankle])
        if f"{side}_toe" in fit.keys:
            toe = fit.keys.index(f"{side}_toe")
            places[:, toe] += places[:, ankle] - own
            weights[:, toe] *= 1 - share
        link = len(fit.links) - 2 + k
        flat = _flat_turns(turns[:, k], stands[:, k], fit.flat[k])
        wanted[share > 0, link] = flat[share > 0]
        turn_weights[:, link] = np.where(share > 0, share * FLAT, turn_weights[:, link])
    return PoseTargets(places, weights, wanted, turn_weights)


def lifted(fit: BodyFit, targets: PoseTargets, poses: FittedPoses, low: np.ndarray) -> PoseTargets:
    """The same with feet asked for higher, and flatter, where they are (T, 2) too low in poses."""
    places = targets.places.copy()
    turns, turn_weights = targets.turns.copy(), targets.turn_weights.copy()
    seen = fit.foot_turns(poses)
    for k, side in enumerate(SIDES):
        up, link = _hull(low[:, k], fit.person.rate), len(fit.links) - 2 + k
        for part in ("ankle", "toe"):
            if f"{side}_{part}" in fit.keys:
                places[:, fit.keys.index(f"{side}_{part}"), 2] += up
        flat = _flat_turns(seen[:, k], np.zeros(len(up), bool), fit.flat[k])
        wanted = FLAT * np.clip(up / SWING, 0.0, 1.0)
        more = wanted > turn_weights[:, link]
        turns[more, link], turn_weights[more, link] = flat[more], wanted[more]
    weights = _reweighted(fit, targets, fit.places(poses))
    return PoseTargets(places, weights, turns, turn_weights)


def raised(poses: FittedPoses, deep: np.ndarray, rate: float) -> FittedPoses:
    """The same with the base higher where a foot is still (T, 2) deep below the floor."""
    up = _hull(deep.max(axis=1), rate)
    return replace(poses, base_pos=poses.base_pos + up[:, None] * np.array([0.0, 0.0, 1.0]))


def depths(robot: Robot, poses: FittedPoses) -> np.ndarray:
    """(T, 2) how deep feet are below the floor, m."""
    return np.maximum(-_soles(robot, poses).height - CLEAR, 0.0)


def too_low(robot: Robot, poses: FittedPoses, stands: np.ndarray, rate: float) -> np.ndarray:
    """(T, 2) by how much feet are below the floor, or, while they move, below where they slide."""
    soles = _soles(robot, poses)
    speed = np.linalg.norm(np.gradient(soles.place, axis=0), axis=-1) * rate
    share = np.clip((speed - FAST[0]) / (FAST[1] - FAST[0]), 0.0, 1.0) * ~stands
    return np.maximum(SWING * share - soles.height - CLEAR, 0.0)


def _soles(robot: Robot, poses: FittedPoses) -> Soles:
    """Of the left and the right foot; far above the floor where a robot has none."""
    none = np.zeros_like(poses.q)
    soles = soles_of(robot, State(poses.q, none, poses.base_pos, poses.base_quat_wxyz))
    if soles is None or len(soles.names) != 2:
        return Soles(np.ones((len(none), 2)), np.zeros((len(none), 2, 2)), ("", ""))
    return soles


def _reweighted(fit: BodyFit, targets: PoseTargets, seen: np.ndarray) -> np.ndarray:
    """(T, P) weights by what can be reached: a point that is far anyway pulls less; feet as before.

    Squares of errors so weighted add up to the errors themselves, which is what is reported.
    """
    away = np.linalg.norm(seen - fit.targets.places, axis=-1)
    usual = uniform_filter1d(away, round(USUAL * fit.person.rate), axis=0, mode="nearest")
    weights = (NEAR / np.maximum(usual, NEAREST)) ** 0.5
    feet = [k for k, key in enumerate(fit.keys) if key.endswith(("ankle", "toe"))]
    weights[:, feet] = targets.weights[:, feet]
    return weights


def _hull(values: np.ndarray, rate: float) -> np.ndarray:
    """A smooth curve that is nowhere below the values."""
    width = max(round(0.5 * RAMP * rate), 1)
    wide = maximum_filter1d(values, 2 * width + 1, mode="nearest")
    return uniform_filter1d(wide, 2 * width + 1, mode="nearest")


def _anchored(seen: np.ndarray, stands: np.ndarray, level: float, rate: float) -> np.ndarray:
    """(T, 3) by how much an ankle is moved: to one place while it stands, less and less after."""
    moved = np.zeros_like(seen)
    width = 2 * max(round(LEAVE * rate), 1) + 1
    known = np.equal(maximum_filter1d(stands, width, mode="nearest"), False)
    for start, stop in stretches(stands):
        anchor = np.append(np.median(seen[start:stop, :2], axis=0), level)
        moved[start:stop], known[start:stop] = anchor - seen[start:stop], True
    if known.any():
        time, at = np.arange(len(seen)), np.flatnonzero(known)
        moved = np.stack([np.interp(time, at, column[at]) for column in moved.T], axis=1)
    return moved


def _ramped(stands: np.ndarray, rate: float) -> np.ndarray:
    """(T,) from 0 to 1 where a foot comes to stand; 1 all the time that it does."""
    width = 2 * max(round(RAMP * rate), 1) + 1
    wide = maximum_filter1d(stands.astype(float), width, mode="nearest")
    return np.maximum(uniform_filter1d(wide, width, mode="nearest"), stands)


def _flat_turns(turns: np.ndarray, stands: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """(T, 4) a flat foot that faces one way while it stands, and as it did in between."""
    ahead = rotate(mul(turns, conj(flat)), np.array([1.0, 0.0, 0.0]))
    yaw = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]))
    for start, stop in stretches(stands):
        yaw[start:stop] = np.median(yaw[start:stop])
    return mul(about(np.array([0.0, 0.0, 1.0]), yaw), flat)
