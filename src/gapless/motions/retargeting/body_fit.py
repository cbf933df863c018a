"""What a fitted person asks of a robot: places of points, turns of links, and where to begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from gapless.motions.retargeting.correspondences import Correspondences
from gapless.motions.retargeting.person import SIDES, Person
from gapless.motions.retargeting.pose_fit import DAMPING, FittedPoses, PoseFit, PoseTargets
from gapless.motions.retargeting.shape_fit import FOOT, flat_foot_angle
from gapless.progress import ProgressReporter
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, mul, rotate

WEIGHTS = {"ankle": 2.5, "toe": 0.3}
"""Weights of places; others count 1 at first, and then by how near they can come."""
TURN_WEIGHT = 0.15
"""Of the turn of a bone, m/rad: half the length of a limb."""
RESTING = 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003
"""Weights of the default pose in the rest pose, one after the other, m/rad: a straight arm may be
turned about itself, and shall not be by the way that led to it."""
UPRIGHT = 0.7
"""A rest pose stands if its shoulders are this share of leg and trunk above its ankles."""


class BodyFit:
    """One robot and one person of its size.

    Args:
        robot: mounted "free".
        correspondences: which point stands for which keypoint.
        person: of the robot's size, on its floor.

    Attributes:
        keys: keypoints whose places are asked for, in the order of the points.
        links: whose turns may be asked for; the feet are the last two.
        targets: what the person asks for.
    """

    def __init__(self, robot: Robot, correspondences: Correspondences, person: Person) -> None:
        self.kinematics = Kinematics.of(robot)
        self._robot, self._map = robot, correspondences
        self.person = _with_standing_rest(person)
        self._points = self._find_points()
        self.keys = tuple(self._points)
        bones = [k for k in correspondences.segments if k in person.keypoints]
        self._bones = [k for k in bones if not k.endswith("ankle")] + [f"{s}_ankle" for s in SIDES]
        self.links = [correspondences.segments[k] for k in self._bones]
        self._fit = PoseFit(robot, list(self._points.values()), self.links)
        self.targets = self._find_targets()

    @property
    def flat(self) -> np.ndarray:
        """(2, 4) orientations of the feet, left and right, flat on the floor and facing x."""
        quat = self.kinematics.link_poses(self._robot.joints.default)[1][0]
        return np.stack([quat[self.kinematics.links.index(link)] for link in self.links[-2:]])

    def follow(self, targets: PoseTargets, reporter: ProgressReporter | None = None) -> FittedPoses:
        """Poses of the robot for all frames."""
        return self._fit.follow(targets, self.person.rate, self._start(targets.places), reporter)

    def places(self, poses: FittedPoses) -> np.ndarray:
        """(T, P, 3) where the robot's points are."""
        return self.kinematics.points(
            poses.q, poses.base_pos, poses.base_quat_wxyz, points=list(self._points.values())
        )

    def foot_turns(self, poses: FittedPoses) -> np.ndarray:
        """(T, 2, 4) orientations of the left and the right foot."""
        quat = self.kinematics.link_poses(poses.q, poses.base_pos, poses.base_quat_wxyz)[1]
        return quat[:, [self.kinematics.links.index(link) for link in self.links[-2:]]]

    def _find_points(self) -> dict[str, TrackingPoint]:
        """Those of all keypoints; toes only where nothing else says how feet are turned."""
        chosen = [k for k in self._map.points if k in self.person.keypoints and k != "chest"]
        found = {key: self._map.points[key] for key in chosen if not key.endswith("toe")}
        if self.person.turns is not None or "left_toe" not in self.person.keypoints:
            return found
        quat = self.kinematics.link_poses(self._robot.joints.default)[1][0]
        for side in SIDES:
            foot, angle = found[f"{side}_ankle"], flat_foot_angle(self.person, side)
            way = FOOT * np.array([np.cos(angle), 0.0, -np.sin(angle)])
            way = rotate(conj(quat[self.kinematics.links.index(foot.body)]), way)
            offset = (np.array(foot.offset) + way).tolist()
            found[f"{side}_toe"] = TrackingPoint(f"{side}_toe", foot.body, tuple(offset))
        return found

    def _find_targets(self) -> PoseTargets:
        places = self._wanted(self.person.positions)
        count = len(places)
        weights = [WEIGHTS.get(key.rsplit("_", 1)[-1], 1.0) for key in self.keys]
        turns = np.zeros((count, len(self.links), 4))
        turns[..., 0], wanted = 1.0, np.zeros((count, len(self.links)))
        if self.person.turns is not None:
            wanted[:] = TURN_WEIGHT
            turns = self._turned(self.person.turns)
        return PoseTargets(places, np.tile(weights, (count, 1)), turns, wanted)

    def _wanted(self, positions: np.ndarray) -> np.ndarray:
        """(T, P, 3) places of the points; feet have the robot's length."""
        named = dict(zip(self.person.keypoints, positions.swapaxes(0, 1), strict=True))
        for side in SIDES:
            if f"{side}_toe" in named:
                ankle, way = named[f"{side}_ankle"], named[f"{side}_toe"] - named[f"{side}_ankle"]
                length = np.linalg.norm(way, axis=-1, keepdims=True)
                named[f"{side}_toe"] = ankle + FOOT * way / np.maximum(length, 1e-6)
        return np.stack([named[key] for key in self.keys], axis=1)

    def _turned(self, bones: np.ndarray) -> np.ndarray:
        """(T, L, 4) links as bones are turned: the turn between the two stays as in the rest."""
        rest = self._rest_pose()
        quat = self.kinematics.link_poses(rest.q, rest.base_pos, rest.base_quat_wxyz)[1][0]
        own = np.stack([quat[self.kinematics.links.index(link)] for link in self.links])
        return mul(bones[:, self.person.columns(self._bones)], own)

    def _rest_pose(self) -> FittedPoses:
        """The robot as the person rests; what that leaves open is as in the default pose."""
        assert self.person.rest is not None
        places = self._wanted(self.person.rest[None])
        none = np.zeros((1, len(self.links)))
        turns = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(self.links), 1))
        asked = PoseTargets(places, np.ones(places.shape[:2]), turns, none)
        found = self._start(places)
        for posture in RESTING:
            damping = min(DAMPING, 3 * posture**2)  # else nothing comes of so light a weight
            found = self._fit.follow(asked, 1.0, found, posture=posture, damping=damping)
        return found

    def _start(self, places: np.ndarray) -> FittedPoses:
        """The default pose, where the person is and as it faces in the first frame."""
        named = dict(zip(self.keys, places[0], strict=True))
        quat = heading(named)
        root = self.kinematics.points(
            self._robot.joints.default, points=[self._map.points["pelvis"]]
        )[0, 0]
        base = self.kinematics.link_poses(self._robot.joints.default)[0][0]
        away = base[self.kinematics.links.index(self._robot.root)] - root
        return FittedPoses(
            self._robot.joints.default[None],
            (named["pelvis"] + rotate(quat, away))[None],
            quat[None],
        )


def heading(points: Mapping[str, np.ndarray]) -> np.ndarray:
    """(4,) orientation of a body whose hips and shoulders are there; it stands along x."""
    hips, shoulders = (
        0.5 * (points[f"left_{part}"] + points[f"right_{part}"]) for part in ("hip", "shoulder")
    )
    up = shoulders - hips
    left = points["left_hip"] - points["right_hip"]
    ahead = np.cross(left, up)
    frame = np.stack([ahead, np.cross(up, ahead), up], axis=1)
    frame /= np.maximum(np.linalg.norm(frame, axis=0), 1e-9)
    return Rotation.from_matrix(frame).as_quat(scalar_first=True)


def _with_standing_rest(person: Person) -> Person:
    """A rest pose that stands: some programs lay all bones along one axis in it."""
    if person.rest is None or person.turns is None:
        return person
    both = np.concatenate([person.rest[None], person.positions])
    named = dict(zip(person.keypoints, both.swapaxes(0, 1), strict=True))
    ankle, shoulder = (
        0.5 * (named[f"left_{part}"] + named[f"right_{part}"]) for part in ("ankle", "shoulder")
    )
    tall = (shoulder - ankle)[:, 2] / person.height
    if tall[0] > UPRIGHT:
        return person
    frame = int(np.argmax(tall[1:]))
    turns = mul(person.turns, conj(person.turns[frame])[None])
    note = f"the rest pose does not stand; the person at {frame / person.rate:.2f} s stands for it"
    return replace(person, rest=person.positions[frame], turns=turns).noting(note)
