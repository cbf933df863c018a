"""People for tests: a robot's own motion, written as the files that people's motions come in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from gapless.motions import Motion
from gapless.motions.retargeting.correspondences import Correspondences
from gapless.motions.retargeting.person import ORDER, PARENTS
from gapless.motions.retargeting.person_checks import Y_UP
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics

MIXAMO = {
    "pelvis": "Hips",
    "chest": "Spine2",
    "head": "Head",
    **{
        f"{side}_{part}": f"{side.capitalize()}{name}"
        for side in ("left", "right")
        for part, name in {
            "hip": "UpLeg",
            "knee": "Leg",
            "ankle": "Foot",
            "shoulder": "Arm",
            "elbow": "ForeArm",
            "hand": "Hand",
        }.items()
    },
}
CHANNELS = "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"


def squatting(robot: Robot, seconds: float = 2.0, rate: float = 30.0) -> Motion:
    """A G1 that squats over planted feet while waist and arms move."""
    time = np.arange(round(seconds * rate) + 1) / rate
    wave = np.sin(2 * np.pi * 0.5 * time)
    q = np.tile(robot.joints.default, (len(time), 1))
    depth = 0.25 * (1 - np.cos(2 * np.pi * 0.5 * time))
    moves = {"waist_yaw_joint": 0.4 * wave, "waist_pitch_joint": 0.2 * depth}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        moves |= {
            f"{side}_hip_pitch_joint": -depth,
            f"{side}_knee_joint": 2 * depth,
            f"{side}_ankle_pitch_joint": -depth,
            f"{side}_shoulder_pitch_joint": 0.8 * sign * wave - 0.3,
            f"{side}_shoulder_roll_joint": sign * (0.4 + 0.3 * wave),
            f"{side}_shoulder_yaw_joint": 0.3 * wave,
            f"{side}_elbow_joint": 0.7 + 0.5 * wave,
        }
    for joint, move in moves.items():
        q[:, robot.joints.index(joint)] += move
    return Motion("squat", robot.joints.names, rate, q, *_standing(robot, q), source="test")


def _standing(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A base that keeps the left foot where it is in the default pose."""
    kinematics = Kinematics.of(robot)
    foot = kinematics.links.index(robot.link_groups["feet"][0])
    still = np.zeros((len(q), 3))
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(q), 1))
    home = kinematics.link_poses(robot.joints.default)[0][0, foot]
    return home - kinematics.link_poses(q, still, turn)[0][:, foot], turn


def keypoints_of(motion: Motion, robot: Robot) -> dict[str, np.ndarray]:
    """Keypoint -> (T, 3) where the robot's own points are."""
    points = Correspondences.of(robot).points
    seen = Kinematics.of(robot).points(
        motion.q, motion.base_pos, motion.base_quat_wxyz, points=list(points.values())
    )
    return dict(zip(points, seen.swapaxes(0, 1), strict=True))


def write_joints(path: Path, places: dict[str, np.ndarray], fps: float = 30.0) -> Path:
    """A .npz of named joint positions."""
    names = np.array([f"{key[0]}_{key.split('_')[1]}" if "_" in key else key for key in places])
    np.savez(path, positions=np.stack(list(places.values()), axis=1), fps=fps, joint_names=names)
    return path


def write_bvh(path: Path, motion: Motion, robot: Robot, rest_q: np.ndarray) -> Path:
    """The robot as a person: bones as its links, y up, centimetres, resting in a given pose."""
    both = Motion("both", motion.joints, motion.rate, np.concatenate([rest_q[None], motion.q]))
    assert motion.base_pos is not None and motion.base_quat_wxyz is not None
    base = np.concatenate([[[0.0, 0.0, 0.8]], motion.base_pos])
    quat = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], motion.base_quat_wxyz])
    kinematics, found = Kinematics.of(robot), Correspondences.of(robot)
    whole = Motion("both", both.joints, both.rate, both.q, base, quat)
    places = keypoints_of(whole, robot)
    turns = kinematics.link_poses(both.q, base, quat)[1]
    bones = {}
    for key in places:
        column = kinematics.links.index(found.segments.get(key, found.points[key].body))
        link = Rotation.from_quat(turns[:, column], scalar_first=True)
        bones[key] = link * link[0].inv()
    return _written(path, places, bones, motion.rate)


def _written(
    path: Path, places: dict[str, np.ndarray], bones: dict[str, Rotation], rate: float
) -> Path:
    """First frame of everything is the rest pose."""
    keys = [key for key in ORDER if key in places]
    axes = Rotation.from_matrix(Y_UP.T)
    rest = {key: 100 * Y_UP.T @ places[key][0] for key in keys}
    columns = []
    for key in keys:
        above = bones[PARENTS[key]] if key in PARENTS else None
        from_ = places[PARENTS[key]] if key in PARENTS else np.zeros(3)
        place, turn = places[key] - from_, bones[key]
        if above is not None:
            place, turn = above.inv().apply(place), above.inv() * turn
        local = (axes * turn * axes.inv()).as_euler("ZXY", degrees=True)
        columns += [100 * place[1:] @ Y_UP, local[1:]]
    lines = ["HIERARCHY", *_joint("pelvis", keys, rest, 0), "MOTION"]
    rows = np.concatenate(columns, axis=1)
    order = [key for key in _depth_first("pelvis", keys)]
    pick = np.concatenate([6 * keys.index(key) + np.arange(6) for key in order])
    lines += [f"Frames: {len(rows)}", f"Frame Time: {1 / rate:.6f}"]
    lines += [" ".join(f"{value:.6f}" for value in row) for row in rows[:, pick]]
    path.write_text("\n".join(lines) + "\n")
    return path


def _children(key: str, keys: list[str]) -> list[str]:
    return [k for k in keys if PARENTS.get(k) == key]


def _depth_first(key: str, keys: list[str]) -> list[str]:
    return [key, *(k for child in _children(key, keys) for k in _depth_first(child, keys))]


def _joint(key: str, keys: list[str], rest: dict[str, np.ndarray], depth: int) -> list[str]:
    offset = rest[key] - rest[PARENTS[key]] if key in PARENTS else rest[key]
    inner = [line for child in _children(key, keys) for line in _joint(child, keys, rest, 1)]
    inner = inner or ["End Site", "{", "OFFSET 0 5 0", "}"]
    told = " ".join(f"{v:.6f}" for v in offset)
    kind = "JOINT" if depth else "ROOT"
    return [f"{kind} {MIXAMO[key]}", "{", f"OFFSET {told}", CHANNELS, *inner, "}"]
