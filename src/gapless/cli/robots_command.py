"""`gapless robots`: list the built-in robots, or show one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table
from rich.text import Text

from gapless.cli.terminal import console, parse, save_json
from gapless.errors import NameMismatchError
from gapless.robots import Robot, names


@dataclass(frozen=True)
class Robots:
    """List the built-in robots, or show the joints, gains and groups of one."""

    action: Annotated[Literal["list", "show"], tyro.conf.Positional] = "list"
    """list, or show NAME."""
    name: Annotated[str | None, tyro.conf.Positional] = None
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Robots, "robots", arguments)
    if args.action == "list":
        robots = {name: Robot.load(name) for name in names()}
        console().print(_list(robots))
        save_json(args.json, {name: _facts(robot) for name, robot in robots.items()})
        return 0
    if args.name is None:
        raise NameMismatchError(f"which robot? gapless robots show {{{','.join(names())}}}")
    robot = Robot.load(args.name)
    console().print(_joints(robot))
    console().print(_groups(robot))
    for note in robot.notes:
        console().print(f"note: {note}", markup=False)
    save_json(args.json, _facts(robot))
    return 0


def _list(robots: dict[str, Robot]) -> Table:
    table = Table(title="Built-in robots", title_justify="left")
    for column in ("name", "joints", "rate (Hz)", "usual mount", "what"):
        table.add_column(column)
    for name, robot in robots.items():
        count = str(len(robot.joints.names))
        table.add_row(name, count, f"{robot.rate:g}", robot.mount, robot.title)
    return table


COLUMNS = ("kp", "kd", "effort", "velocity", "armature", "damping", "frictionloss")
POSE = ("lower", "upper", "default")


def _joints(robot: Robot) -> Table:
    table = Table(title=Text(f"{robot.name}: {robot.title}"), title_justify="left")
    table.add_column("joint")
    for column in (*COLUMNS, *POSE):
        table.add_column(column, justify="right")
    for i, name in enumerate(robot.joints.names):
        table.add_row(
            Text(name), *(f"{getattr(robot.joints, c)[i]:.4g}" for c in (*COLUMNS, *POSE))
        )
    return table


def _groups(robot: Robot) -> Table:
    table = Table(title="groups", title_justify="left")
    table.add_column("group")
    table.add_column("members")
    for kind, groups in (("links", robot.link_groups), ("joints", robot.joint_groups)):
        for name, members in groups.items():
            table.add_row(Text(f"{name} ({kind})"), Text(", ".join(members)))
    aliases = (f"{log} = {alias.joint}" for log, alias in robot.aliases.items())
    table.add_row("names in logs", Text(", ".join(aliases) or "-"))
    return table


def _facts(robot: Robot) -> dict[str, Any]:
    return {
        "title": robot.title,
        "rate": robot.rate,
        "mount": robot.mount,
        "root": robot.root,
        "joints": {
            name: {c: float(getattr(robot.joints, c)[i]) for c in (*COLUMNS, *POSE)}
            for i, name in enumerate(robot.joints.names)
        },
        "link_groups": robot.link_groups,
        "joint_groups": robot.joint_groups,
        "aliases": {log: alias.joint for log, alias in robot.aliases.items()},
        "notes": robot.notes,
    }
