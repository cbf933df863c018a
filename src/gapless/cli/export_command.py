"""`gapless export`: the simulator of a run, for other people's tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from gapless.cli.terminal import check_outputs, console, parse, save_json, spinner
from gapless.errors import GaplessError

To = Literal["json", "mjcf", "urdf", "mcap", "isaaclab", "mjlab"]


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write the calibrated simulator of a run for another tool, and say what it has no place for.

    json: every figure with unit, interval, prior and source. mjcf: MuJoCo XML. urdf: the URDF that
    the robot came from, with what was identified. mcap: the replays, as ROS 2 messages. isaaclab:
    configuration and correction for Isaac Lab. mjlab: a Python package with tasks for mjlab.
    """

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of a finished run; make one with gapless close."""
    to: To
    """Which tool."""
    out: Path
    """File (json) or folder to write."""
    motion: Path | None = None
    """Motion file that the tracking task follows; mjlab only."""
    overwrite: bool = False
    """Replace an earlier export."""
    json: Path | None = None
    """File for what was written and what was left out."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Export, "export", arguments)
    from gapless.exports import export

    check_outputs(args.out, args.json)
    with spinner("exporting"):
        found = export(args.run, args.to, args.out, **_options(args))
    console().print(found)
    save_json(args.json, found.to_dict())
    return 0


def _options(args: Export) -> dict[str, Any]:
    """Those that the format takes."""
    if args.motion is not None and args.to != "mjlab":
        raise GaplessError(f"--motion is for --to mjlab, not for {args.to}; leave it out")
    told: dict[str, Any] = {"overwrite": args.overwrite}
    return told if args.motion is None else {**told, "motion": args.motion}
