"""`gapless motion`: make or read a motion, check it, save it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.terminal import check_outputs, console, parse, save_json
from gapless.errors import DataError, unknown
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.motions import Motion
    from gapless.motions.limits import MotionReport

FLAGS = {
    "a motion of the catalogue": ("seconds", "seed", "joints", "amplitude", "about", "foot"),
    "a level": ("seconds", "seed", "count"),
    "a file": ("joint_order", "file_rate"),
}
"""What a motion comes from -> the flags that not every one of them knows."""


@dataclass(frozen=True)
class MotionArguments:
    """Make a motion by name, or read one from a file, check it against the robot and save it.

    Without a name, the motions that can be made are listed; gapless motion check FILE says whether
    a tracker can follow it. A motion that breaks a limit, or in
    which links collide or the robot tips, is not saved, and the exit code is 1.
    """

    name: Annotated[str | None, tyro.conf.Positional] = None
    """Name in the catalogue, a level, or the path of a motion file, a folder or a dataset."""
    robot: str | None = None
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; the robot's usual mount by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    seconds: float | None = None
    """Length of a motion that is made; 20 by default, or 10 for each joint that takes its turn."""
    rate: float | None = None
    """Samples per second; the robot's, or the file's, by default."""
    seed: int | None = None
    """Of what is random in a motion that is made; 0 by default."""
    joints: tuple[str, ...] = ()
    """Joints or joint groups that move; all by default."""
    amplitude: float | None = None
    """Share of the range that is used."""
    count: int | None = None
    """How many motions of a level; 1 by default."""
    joint_order: tuple[str, ...] = ()
    """Joint names of a file that carries none; "robot" says that the order is the robot's."""
    file_rate: float | None = None
    """Samples per second of a file that does not say it."""
    pick: str | None = None
    """Only the motion of this name, of a source with several."""
    lead_in: float = 0.0
    """Seconds of a smooth move from the default pose to the start, and back from the end."""
    fit: bool = False
    """Make the motion smaller and slower until it breaks no limit."""
    force: bool = False
    """Save it although it breaks limits."""
    about: tuple[str, ...] = ()
    """Parameters that an optimal motion tells about: kp, kd, frictionloss, armature, ..."""
    foot: str | None = None
    """Foot or hand that an ellipsoid moves: left, right, a link or an end effector."""
    out: Path | None = None
    """File (.npz or .csv) for the motion; a folder where there are several."""
    overwrite: bool = False
    """Replace a folder of motions that is already there."""
    plot: Path | None = None
    """PNG with the joints' curves and limits; a folder where there are several motions."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    if arguments[:1] == ["check"]:
        from gapless.cli.motion_check import run as check

        return check(arguments[1:])
    args = parse(MotionArguments, "motion", arguments)
    from gapless.cli import motion_tables as tables
    from gapless.cli.motion_output import check_suffix, draw, save

    if args.name is None:
        console().print(tables.catalogue())
        return 0
    if args.robot is None:
        raise DataError(f"which robot? gapless motion {args.name} --robot g1")
    check_outputs(args.json, args.out, args.plot)
    source = _source(args.name)
    _check_flags(args, source)
    if source != "a file":
        check_suffix(args.out, 1 if args.pick else args.count or 1)
    robot = Robot.load(args.robot, mount=args.mount, lock=args.lock)
    motions = _motions(args, robot, source)
    check_suffix(args.out, len(motions))
    checked = [_check(motion, robot, args) for motion in motions]
    for table in tables.report(checked, robot):
        console().print(table)
    save_json(args.json, {motion.name: report.to_dict() for motion, report in checked})
    draw(checked, robot, args.plot)
    bad = [motion.name for motion, report in checked if not report.ok]
    if bad and not args.force:
        hint = "--force saves it as it is" if args.fit else "--fit makes it fit"
        console(stderr=True).print(f"{len(bad)} of {len(checked)} break limits, none saved; {hint}")
        return 1
    save([motion for motion, _ in checked], args.out, args.overwrite)
    return 1 if bad else 0


def _check(motion: Motion, robot: Robot, args: MotionArguments) -> tuple[Motion, MotionReport]:
    from gapless.motions.fit import fit_motion
    from gapless.motions.limits import check_motion

    if args.rate is not None:
        motion = motion.resampled(args.rate)
    if args.lead_in != 0:
        motion = motion.with_lead_in(robot, args.lead_in)
    return fit_motion(motion, robot) if args.fit else (motion, check_motion(motion, robot))


def _source(name: str) -> str:
    """What a motion comes from, a key of FLAGS; a name of the catalogue hides a file."""
    from gapless.motions import CATALOGUE
    from gapless.motions.levels import LEVELS

    if name in CATALOGUE:
        return "a motion of the catalogue"
    if name in LEVELS:
        return "a level"
    if not Path(name).exists():
        raise unknown("motion, and no file,", name, (*CATALOGUE, *LEVELS))
    return "a file"


def _check_flags(args: MotionArguments, source: str) -> None:
    """Refuse what would be ignored, and numbers that mean nothing."""
    for flag in dict.fromkeys(flag for flags in FLAGS.values() for flag in flags):
        if flag not in FLAGS[source] and getattr(args, flag) not in (None, ()):
            kinds = " or ".join(kind for kind, flags in FLAGS.items() if flag in flags)
            option = flag.replace("_", "-")
            raise DataError(f"--{option}: only for {kinds}, and {args.name} is {source}")
    if args.seed is not None and args.seed < 0:
        raise DataError(f"--seed is {args.seed}; give 0 or more")
    if args.count is not None and args.count < 1:
        raise DataError(f"--count is {args.count}; give 1 or more")


def _motions(args: MotionArguments, robot: Robot, source: str) -> list[Motion]:
    found = _read(args, robot) if source == "a file" else _made(args, robot)
    if args.pick is None:
        return found
    picked = [motion for motion in found if motion.name == args.pick]
    if not picked:
        raise unknown("motion", args.pick, [motion.name for motion in found])
    return picked


def _made(args: MotionArguments, robot: Robot) -> list[Motion]:
    """The motion of the catalogue, or those of a level."""
    from gapless.motions import CATALOGUE, level_motions, make
    from gapless.motions.catalogue import TOGETHER

    name, seed = str(args.name), args.seed or 0
    if name not in CATALOGUE:
        seconds = TOGETHER if args.seconds is None else args.seconds
        return level_motions(robot, name, args.count or 1, seconds, args.rate, seed)
    options = {
        "joints": args.joints or None,
        "amplitude": args.amplitude,
        "about": args.about or None,
        "foot": args.foot,
    }
    given = {key: value for key, value in options.items() if value is not None}
    return [make(name, robot, args.seconds, rate=args.rate, seed=seed, **given)]


def _read(args: MotionArguments, robot: Robot) -> list[Motion]:
    from gapless.motions import read_motions

    order = args.joint_order or None
    return read_motions(str(args.name), robot, joint_order=order, rate=args.file_rate)
