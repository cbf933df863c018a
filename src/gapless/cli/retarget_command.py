"""`gapless retarget`: a person's motion becomes a robot's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import DataError


@dataclass(frozen=True, kw_only=True)
class RetargetArguments:
    """Turn a person's motion into one of a robot: BVH, or SMPL-style joint positions.

    Joint and speed limits hold; feet that stand are kept still and on the floor. The exit code is
    1, and nothing is saved, where the motion cannot be tracked or is rejected.
    """

    file: Annotated[Path, tyro.conf.Positional]
    """A .bvh; or a .pkl or .npz with smpl_joints (T, 24, 3) and fps."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    rate: float | None = None
    """Frames per second of a file that does not say it."""
    scale: float | None = None
    """Metres that a unit of the file stands for; found by the person's height by default."""
    start: float | None = None
    """Leave out what is before, s."""
    stop: float | None = None
    """Leave out what is after, s."""
    keypoints: tuple[str, ...] = ()
    """KEYPOINT=JOINT, where the file's own names are not known: left_knee=Bone12 ..."""
    correspondences: Path | None = None
    """A .toml that says which links of the robot stand for which keypoints."""
    repair: bool = True
    """Keep standing feet still, and feet above the floor."""
    clean: bool = False
    """Try the motion in the simulator: keep it, repair it, or reject it with the reason."""
    force: bool = False
    """Save it although it cannot be tracked or was rejected."""
    out: Path | None = None
    """File (.npz or .csv) for the motion; a .npz also keeps the person, for gapless view."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(RetargetArguments, "retarget", arguments)
    from gapless.cli.motion_output import check_suffix, save
    from gapless.motions.retargeting import clean_motion, retarget
    from gapless.robots import Robot

    check_outputs(args.json, args.out)
    check_suffix(args.out, 1)
    robot = Robot.load(args.robot, lock=args.lock)
    with progress("retargeting") as watch:
        found = retarget(
            args.file,
            robot,
            rate=args.rate,
            scale=args.scale,
            start=args.start,
            stop=args.stop,
            keypoints=_pairs(args.keypoints),
            correspondences=args.correspondences,
            repair=args.repair,
            watch=watch,
        )
    console().print(found)
    figures, motion, good = found.to_dict(), found.motion, found.after.ok
    if args.clean:
        with progress("cleaning") as watch:
            cleaned = clean_motion(motion, robot, watch=watch)
        console().print(str(cleaned), markup=False)
        figures["cleaned"], motion = cleaned.to_dict(), cleaned.motion
        good = cleaned.verdict != "rejected"
    save_json(args.json, figures)
    if not good and not args.force:
        console(stderr=True).print(f"{motion.name} is not saved; --force saves it as it is")
        return 1
    save([motion], args.out, overwrite=False)
    return 0 if good else 1


def _pairs(told: tuple[str, ...]) -> dict[str, str]:
    """KEYPOINT=JOINT pairs."""
    wrong = [pair for pair in told if "=" not in pair]
    if wrong:
        raise DataError(f"--keypoints {wrong[0]}: expected KEYPOINT=JOINT, e.g. left_knee=LeftLeg")
    return {key: joint for key, _, joint in (pair.partition("=") for pair in told)}
