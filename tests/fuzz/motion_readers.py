"""Motions and people: read, checked, resampled, and put on a robot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import log_writers
from fuzz.reader import Reader
from fuzz.small_arm import motion, robot_named
from gapless.motions import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.references import read_motions
from gapless.motions.retargeting.person_files import read_person
from gapless.robots import Robot

ROBOT = "g1_23dof"


def saved(suffix: str) -> Callable[[Path], None]:
    """A motion as we write it."""

    def make(folder: Path) -> None:
        motion(robot_named(ROBOT)).save(folder / f"a{suffix}")

    return make


def asap(folder: Path) -> None:
    """A motion as ASAP writes it."""
    still = motion(robot_named(ROBOT))
    turn = np.tile(np.array([0, 0, 0, 1], np.float32), (len(still), 1))
    kick = {"dof": still.q, "root_rot": turn, "root_trans_offset": still.base_pos, "fps": 30}
    (folder / "a.pkl").write_bytes(log_writers.joblib_bytes({"kick": kick}))


def followed(source: Path, out: Path) -> None:
    """Every motion of a file, as a tracker would follow it."""
    robot = robot_named(ROBOT)
    (path,) = source.iterdir()
    for found in read_motions(path, robot):
        MotionFrames.of(found, robot, 50)
        found.save(out / "again.npz")
        Motion.load(out / "again.npz")


def person(kind: str) -> Callable[[Path], None]:
    """A person who squats."""

    def make(folder: Path) -> None:
        from people import keypoints_of, squatting, write_bvh, write_joints

        robot = Robot.load("g1")
        squat = squatting(robot, 0.5)
        if kind == "bvh":
            write_bvh(folder / "a.bvh", squat, robot, robot.joints.default)
        elif kind == "npz":
            write_joints(folder / "a.npz", keypoints_of(squat, robot))
        else:
            places = np.zeros((15, 24, 3)) + np.linspace(0, 0.97, 24)[None, :, None]
            tree = {"walk": {"smpl_joints": places, "fps": 30}}
            (folder / "a.pkl").write_bytes(log_writers.joblib_bytes(tree))

    return make


def seen(source: Path, out: Path) -> None:
    """The person of a file, cleaned."""
    (path,) = source.iterdir()
    read_person(path)


READERS = (
    Reader("motion npz", saved(".npz"), followed),
    Reader("motion csv", saved(".csv"), followed),
    Reader("motion pickle", asap, followed),
    Reader("bvh", person("bvh"), seen),
    Reader("person npz", person("npz"), seen),
    Reader("person pickle", person("pkl"), seen),
)
