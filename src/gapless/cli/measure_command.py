"""`gapless measure`: how far a simulator is from a dataset, where and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.cli.terminal import console, parse, progress, save_json
from gapless.recordings import Dataset


@dataclass(frozen=True)
class Measure:
    """Replay a dataset in MuJoCo and print the gap: by horizon, by joint, by cause."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset; make one with gapless import."""
    robot: str | None = None
    """Built-in robot or path of an .xml or .urdf; the dataset's own by default."""
    mount: str | None = None
    """free, fixed, or the link that is clamped; the robot's usual mount by default."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    horizons: tuple[str, ...] = ("0.25", "0.5", "1.0", "full")
    """Seconds replayed from recorded states; "full" is the whole clip."""
    windows: int | None = None
    """At most this many windows of each recording and horizon; all by default."""
    threshold: float = 0.5
    """Joint error that counts as a large gap, rad."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    causes: bool = True
    """Attribute the error to likely causes."""
    include_flagged: bool = False
    """Also measure recordings that the import flagged as unfit."""
    reference_as_command: bool = False
    """Play recorded positions as commands, for reference motions that command nothing."""
    json: Path | None = None
    """File for the figures."""
    dump: Path | None = None
    """Folder for the last states before each divergence."""
    plots: Path | None = None
    """Folder for a PNG of command, real and simulated curves of each recording."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Measure, "measure", arguments)
    from gapless.measure import measure
    from gapless.measure.replay import parse_horizon
    from gapless.robots import Robot
    from gapless.worlds import MujocoWorld

    dataset = Dataset.open(args.dataset)
    robot = Robot.load(args.robot or dataset.robot, mount=args.mount, lock=args.lock)
    recordings = _wanted(dataset, args)
    world = MujocoWorld(robot, dataset.rate, physics_step=args.physics_step)
    with progress("measuring") as report:
        gap = measure(
            recordings,
            world,
            horizons=[parse_horizon(h) for h in args.horizons],
            threshold=args.threshold,
            windows=args.windows,
            attribution=args.causes,
            dump=args.dump,
            progress=report,
        )
    console().print(gap)
    save_json(args.json, gap.to_dict())
    if args.plots:
        from gapless.measure.plots import plot_recordings

        for path in plot_recordings(recordings, world, args.plots):
            console(stderr=True).print(f"picture written to {path}")
    return 0


def _wanted(dataset: Dataset, args: Measure) -> Dataset:
    """The recordings to measure; those that were flagged are left out, and that is said."""
    flagged = [e for e in dataset.episodes if e.provenance.get("flags")]
    if flagged and not args.include_flagged:
        names = ", ".join(e.name for e in flagged)
        console(stderr=True).print(
            f"left out {len(flagged)} flagged recordings ({names}); --include-flagged keeps them",
            markup=False,
        )
        dataset = dataset.select(lambda e: not e.provenance.get("flags"))
    if args.reference_as_command:
        return dataset.map(lambda recording: recording.with_reference_as_command())
    return dataset
