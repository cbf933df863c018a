"""`gapless motion check`: can a robot follow these motions at all?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.cli.terminal import check_outputs, console, parse, save_json
from gapless.errors import DataError


@dataclass(frozen=True, kw_only=True)
class MotionCheck:
    """Say whether a tracker can be trained on motions: limits, floor, sliding feet, balance.

    The exit code is 1 where one of them is refused.
    """

    motion: Annotated[Path, tyro.conf.Positional]
    """Motion file, a folder of them, or a dataset."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    joint_order: tuple[str, ...] = ()
    """Joint names of a file that carries none; "robot" says that the order is the robot's."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(MotionCheck, "motion check", arguments)
    from gapless.motions import read_motions
    from gapless.motions.trackability import check_trackability
    from gapless.robots import Robot

    check_outputs(args.json)
    robot = Robot.load(args.robot, lock=args.lock)
    found, bad = {}, 0
    for motion in read_motions(args.motion, robot, joint_order=args.joint_order or None):
        try:
            checked = check_trackability(motion, robot)
        except DataError as error:
            console(stderr=True).print(f"{motion.name}: {error}")
            found[motion.name], bad = {"ok": False, "answer": str(error)}, bad + 1
            continue
        console().print(checked)
        found[motion.name], bad = checked.to_dict(), bad + (not checked.ok)
    save_json(args.json, found)
    return 1 if bad else 0
