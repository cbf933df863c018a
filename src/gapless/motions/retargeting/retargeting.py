"""`gapless.retarget`: a person's motion becomes a robot's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gapless.errors import DataError
from gapless.motions.motion import Motion
from gapless.motions.retargeting import foot_repairs as feet
from gapless.motions.retargeting.body_fit import BodyFit
from gapless.motions.retargeting.correspondences import Correspondences
from gapless.motions.retargeting.difficulty import rate_difficulty
from gapless.motions.retargeting.person import SIDES, Person
from gapless.motions.retargeting.person_files import read_person
from gapless.motions.retargeting.pose_fit import FittedPoses, PoseTargets
from gapless.motions.retargeting.retargeted import Retargeted
from gapless.motions.retargeting.shape_fit import ShapeFit, fit_shape
from gapless.motions.retargeting.stances import find_standing
from gapless.motions.trackability import check_trackability
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics

SHORTEST = 0.3
"""Seconds below which there is nothing to retarget."""
LIFTS, DEEP = 4, 0.004
"""How often feet are lifted at most, and the depth below the floor that ends it, m: what is left
lifts the whole robot."""


def retarget(
    source: str | Path | Person,
    robot: Robot,
    *,
    rate: float | None = None,
    scale: float | None = None,
    start: float | None = None,
    stop: float | None = None,
    keypoints: Mapping[str, str] | None = None,
    correspondences: str | Path | None = None,
    repair: bool = True,
    watch: Watch | None = None,
) -> Retargeted:
    """Fit a robot to a person, in two steps, and repair what its feet do.

    First the person is given the robot's lengths, bone by bone, in the rest pose; one that has
    about the robot's lengths already is taken as it is. Then poses are fitted over time, within
    the joints' ranges and speeds. Feet that stand are kept still, flat and on the floor.

    Args:
        source: a .bvh, a .pkl or .npz of SMPL-style joints, or a Person.
        robot: with legs and arms; it is fitted on its feet, however it is mounted.
        rate: frames per second of a file that does not say it.
        scale: metres that a unit of the file stands for; found by the person's height by default.
        start: leave out what is before, s.
        stop: leave out what is after, s.
        keypoints: keypoint -> joint of the file, where its names are not known.
        correspondences: a .toml that says which links stand for which keypoints; built-in robots
            need none.
        repair: whether feet are repaired.
        watch: told how far it is.

    Raises:
        FormatError: the file is damaged or of another kind.
        DataError: the person, or the robot's links, cannot be used.
    """
    if isinstance(source, Person):
        person = source.part(start, stop)
    else:
        told = {"rate": rate, "scale": scale, "start": start, "stop": stop}
        person = read_person(source, keypoints=keypoints, **told)
    if (len(person) - 1) / person.rate < SHORTEST:
        raise DataError(f"{person.name} has {len(person)} frames; {SHORTEST} s are needed")
    free = robot.with_mount("free")
    return _retargeted(person, free, Correspondences.of(free, correspondences), repair, watch)


def _retargeted(
    person: Person, robot: Robot, points: Correspondences, repair: bool, watch: Watch | None
) -> Retargeted:
    home = Kinematics.of(robot).points(robot.joints.default, points=list(points.points.values()))[0]
    standing = dict(zip(points.points, home, strict=True))
    shape = fit_shape(person, standing)
    fit = BodyFit(robot, points, shape.person)
    level = float(np.mean([standing[f"{side}_ankle"][2] for side in SIDES]))
    first, last = _fitted(fit, robot, level, repair, watch)
    motions = [_motion(poses, fit.person, robot) for poses in (first, last)]
    before, after = (check_trackability(motion, robot) for motion in motions)
    return Retargeted(
        motion=motions[1],
        person=fit.person,
        errors=_errors(fit, last),
        before=before,
        after=after,
        difficulty=rate_difficulty(motions[1], robot),
        ratios=shape.ratios,
        notes=(*fit.person.notes, *_told(shape)),
    )


def _fitted(
    fit: BodyFit, robot: Robot, level: float, repair: bool, watch: Watch | None
) -> tuple[FittedPoses, FittedPoses]:
    """Poses without and with repaired feet."""

    def follow(targets: PoseTargets, stage: str) -> FittedPoses:
        return fit.follow(targets, ProgressReporter(watch, stage, len(targets)))

    first = follow(fit.targets, "fitting poses")
    if not repair:
        return first, first
    stands = find_standing(fit.person, level)
    turns = fit.foot_turns(first)
    targets = feet.planted(fit, first, stands, level, turns)
    last = follow(targets, "planting feet")
    for _ in range(LIFTS):
        low = feet.too_low(robot, last, stands, fit.person.rate)
        targets = feet.lifted(fit, targets, last, low)
        last = follow(targets, "lifting feet")
        if feet.depths(robot, last).max() < DEEP:
            break
    return first, feet.raised(last, feet.depths(robot, last), fit.person.rate)


def _errors(fit: BodyFit, poses: FittedPoses) -> dict[str, float]:
    away = np.linalg.norm(fit.places(poses) - fit.targets.places, axis=-1).mean(axis=0)
    pairs = zip(fit.keys, away, strict=True)
    return {key: float(error) for key, error in pairs if not key.endswith("toe")}


def _motion(poses: FittedPoses, person: Person, robot: Robot) -> Motion:
    places = {key: person.positions[:, k] for k, key in enumerate(person.keypoints)}
    return Motion(
        person.name,
        robot.joints.names,
        person.rate,
        poses.q,
        poses.base_pos,
        poses.base_quat_wxyz,
        source=f"retargeted from {person.source}",
        person=places,
    )


def _told(shape: ShapeFit) -> list[str]:
    lengths = ", ".join(f"{name} {ratio:.2f}" for name, ratio in shape.ratios.items())
    how = (
        f"lengths were fitted to the robot's ({lengths} of the person's)"
        if shape.scaled
        else f"the person has about the robot's lengths ({lengths}) and is taken as it is"
    )
    return [how, f"the person was moved by {1000 * shape.raised:.0f} mm onto the robot's floor"]
