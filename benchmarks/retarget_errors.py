"""Keypoint errors of retargeted motions beside those of ASAP's own joint angles.

    python benchmarks/retarget_errors.py FOLDER ...

A folder holds ASAP's pickles, which have the person (smpl_joints) and the robot (dof). Both robots
are compared with the same person on the same keypoints. People in these files float 2 to 8 cm
above the floor, each by its own amount, so a robot on its floor is compared with a person who was
moved up or down as a whole; ASAP's robots, which float along, at the height that suits them best.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import write_json
from gapless.motions import Motion, read_motions
from gapless.motions.retargeting import Retargeted, read_person, retarget
from gapless.motions.retargeting.correspondences import Correspondences
from gapless.motions.trackability import Trackability, check_trackability
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics

CHECKS = {"sliding of feet": "slide", "feet below the floor": "deep"}
HEIGHTS = np.linspace(-0.05, 0.05, 101)


def asap_error(motion: Motion, robot: Robot, path: Path, keys: list[str]) -> float:
    """Mean distance of ASAP's robot from the person, m, at the best height."""
    person, points = read_person(path), Correspondences.of(robot).points
    seen = Kinematics.of(robot).points(
        motion.targets(robot),
        motion.base_pos,
        motion.base_quat_wxyz,
        points=[points[key] for key in keys],
    )
    away = seen - person.positions[:, person.columns(keys)]
    return min(float(np.linalg.norm(away + np.array([0, 0, z]), axis=-1).mean()) for z in HEIGHTS)


def figures(checked: Trackability) -> dict[str, float]:
    """What feet do."""
    return {CHECKS[c.name]: c.value for c in checked.checks if c.name in CHECKS}


def row(path: Path, robot: Robot) -> dict[str, Any]:
    """Ours and ASAP's of one file."""
    ours: Retargeted = retarget(path, robot)
    theirs = read_motions(path, robot)[0]
    return {
        "motion": path.stem.removesuffix("_filter"),
        "ours": {"error": ours.error, **figures(ours.after)},
        "asap": {
            "error": asap_error(theirs, robot, path, list(ours.errors)),
            **figures(check_trackability(theirs, robot)),
        },
        "difficulty": ours.difficulty.to_dict(),
        "ok": ours.after.ok,
    }


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--robot", default="g1_23dof")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    robot = Robot.load(args.robot)
    rows = []
    print(
        "| motion | error, ours | ASAP's | sliding, ours | ASAP's | below floor, ours | ASAP's | |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(p for folder in args.folders for p in folder.glob("*.pkl")):
        rows.append(found := row(path, robot))
        pairs = [
            f"{scale * found[who][what]:.{digits}f}"
            for what, scale, digits in (("error", 1000, 1), ("slide", 1, 2), ("deep", 1000, 0))
            for who in ("ours", "asap")
        ]
        print("|", " | ".join([found["motion"], *pairs, found["difficulty"]["level"]]), "|")
    if args.json:
        write_json(args.json, {"rows": rows})


if __name__ == "__main__":
    main()
