"""The first step: a person with the robot's lengths, standing where the robot would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gapless.motions.retargeting.person import PARENTS, SIDES, Person
from gapless.motions.retargeting.stances import find_standing

ALIKE = 0.12
"""A person whose leg, trunk and arm differ by less than this share is taken as it is."""
FOOT = 0.12
"""Length of a robot's foot from ankle to toe, m; only its direction counts."""
Points = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class ShapeFit:
    """A person of the robot's size.

    Attributes:
        person: with the robot's lengths, on the robot's floor.
        ratios: robot's length over the person's, of leg, trunk and arm.
        scaled: whether lengths were changed at all.
        raised: by how much the person was lifted onto the floor, m.
    """

    person: Person
    ratios: dict[str, float]
    scaled: bool
    raised: float

    def back(self, positions: np.ndarray) -> np.ndarray:
        """Places (..., 3) beside the fitted person as they would be beside the original one."""
        return positions - np.array([0.0, 0.0, self.raised])


def fit_shape(person: Person, robot: Mapping[str, np.ndarray]) -> ShapeFit:
    """Give a person the lengths of a robot.

    Args:
        person: in metres, z up.
        robot: keypoint -> (3,) place in the robot's default pose, feet flat on a floor at z = 0.
    """
    rest = person.positions if person.rest is None else person.rest[None]
    own, other = _lengths(_named(person, rest)), _lengths({k: v[None] for k, v in robot.items()})
    chains = _chains(other) | {}
    ratios = {name: chains[name] / length for name, length in _chains(own).items()}
    scaled = any(abs(ratio - 1) > ALIKE for ratio in ratios.values())
    fitted = _with_lengths(person, own, other, ratios["leg"]) if scaled else person
    raised = _floor_shift(fitted, float(np.mean([robot[f"{side}_ankle"][2] for side in SIDES])))
    lifted = replace(fitted, positions=fitted.positions + np.array([0.0, 0.0, raised]))
    return ShapeFit(lifted, ratios, scaled, raised)


def _floor_shift(person: Person, level: float) -> float:
    """By how much a person is lifted so that ankles of standing feet are as high as the robot's."""
    ankles = person.positions[:, person.columns(f"{side}_ankle" for side in SIDES), 2]
    guess = level - float(np.percentile(ankles.min(axis=1), 10))
    stands = find_standing(person, level - guess)
    return level - float(ankles[stands].mean()) if stands.any() else guess


def flat_foot_angle(person: Person, side: str) -> float:
    """Angle below the horizon from ankle to toe while a foot is flat on the floor, rad."""
    ankle, toe = person.at(f"{side}_ankle"), person.at(f"{side}_toe")
    low = toe[:, 2] <= np.percentile(toe[:, 2], 30)
    way = (toe - ankle)[low]
    return float(np.median(np.arctan2(-way[:, 2], np.linalg.norm(way[:, :2], axis=1))))


def _named(person: Person, positions: np.ndarray) -> Points:
    return {key: positions[:, k] for k, key in enumerate(person.keypoints)}


def _middle(points: Mapping[str, np.ndarray], part: str) -> np.ndarray:
    return 0.5 * (points[f"left_{part}"] + points[f"right_{part}"])


def _length(ways: np.ndarray) -> float:
    return float(np.median(np.linalg.norm(ways, axis=-1)))


def _lengths(points: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Of every bone by the keypoint it ends at; hips and shoulders by their middle and width."""
    found = {}
    for part in ("hip", "shoulder"):
        found[f"{part}s"] = _length(_middle(points, part) - points["pelvis"])
        found[f"{part} width"] = _length(points[f"left_{part}"] - points[f"right_{part}"])
    for key, parent in PARENTS.items():
        if key in points and not key.endswith(("hip", "shoulder")):
            found[key] = _length(points[key] - points[parent])
    return found


def _chains(lengths: Mapping[str, float]) -> dict[str, float]:
    return {
        "leg": sum(lengths[f"{s}_{p}"] for s in SIDES for p in ("knee", "ankle")) / 2,
        "trunk": lengths["hips"] + lengths["shoulders"],
        "arm": sum(lengths[f"{s}_{p}"] for s in SIDES for p in ("elbow", "hand")) / 2,
    }


def _with_lengths(
    person: Person, own: Mapping[str, float], other: Mapping[str, float], leg: float
) -> Person:
    ratio = {key: other.get(key, length) / max(length, 1e-6) for key, length in own.items()}
    ratio |= {key: leg for key in own if key not in other}  # toes, and what the robot lacks
    positions = _stretched(_named(person, person.positions), ratio, leg)
    rest = person.rest
    if rest is not None:
        rest = _stretched(_named(person, rest[None]), ratio, leg)[0]
    return replace(person, positions=positions, rest=rest)


def _stretched(points: Points, ratio: Mapping[str, float], leg: float) -> np.ndarray:
    """(T, K, 3) points with bones of other lengths and the same directions."""
    found = {"pelvis": leg * points["pelvis"]}
    for part in ("hip", "shoulder"):
        way = _middle(points, part) - points["pelvis"]
        aside = 0.5 * (points[f"left_{part}"] - points[f"right_{part}"])
        for side, sign in (("left", 1.0), ("right", -1.0)):
            wide = sign * ratio[f"{part} width"] * aside
            found[f"{side}_{part}"] = found["pelvis"] + ratio[f"{part}s"] * way + wide
    for key, parent in PARENTS.items():
        if key in points and key not in found:
            found[key] = found[parent] + ratio[key] * (points[key] - points[parent])
    return np.stack([found[key] for key in points], axis=1)
