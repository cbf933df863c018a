"""`gapless measure`: how far a simulator is from a dataset, where and why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from gapless.cli.robot_option import robot_of
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import GaplessError
from gapless.recordings import Dataset
from gapless.robots import Robot
from gapless.worlds.effects import Effects


@dataclass(frozen=True)
class Measure:
    """Replay a dataset in MuJoCo and print the gap: by horizon, by joint, by cause."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """Folder of a dataset; make one with gapless import."""
    robot: str | None = None
    """Built-in robot or path of an .xml, .urdf or .toml; the dataset's own by default."""
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
    calibration: Path | None = None
    """File of gapless identify: measure the gap that is left with the identified figures."""
    loaded: bool = False
    """With the load that a two-stage calibration found, on the recordings that carry one."""
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
    from gapless.measure.plots import plot_recordings, require_matplotlib
    from gapless.measure.replay import parse_horizon
    from gapless.worlds import MujocoWorld

    check_outputs(args.json, args.plots and args.plots / "gap.png")
    if args.plots:
        require_matplotlib()
    dataset = Dataset.open(args.dataset)
    robot = robot_of(dataset, args.robot, args.mount, args.lock)
    recordings = dataset
    if args.reference_as_command:
        recordings = dataset.map(lambda recording: recording.with_reference_as_command())
    robot, effects, recordings = _calibrated(robot, recordings, args)
    world = MujocoWorld(robot, dataset.rate, effects=effects, physics_step=args.physics_step)
    with progress("measuring") as report:
        gap = measure(
            recordings,
            world,
            horizons=[parse_horizon(h) for h in args.horizons],
            threshold=args.threshold,
            windows=args.windows,
            attribution=args.causes,
            include_flagged=args.include_flagged,
            dump=args.dump,
            progress=report,
        )
    console().print(gap)
    save_json(args.json, gap.to_dict())
    if args.plots:
        pictures = [
            *plot_recordings(recordings, world, args.plots),
            gap.plot(args.plots / "gap.png"),
        ]
        console(stderr=True).print(f"{len(pictures)} pictures written to {args.plots}")
    return 0


def _calibrated(
    robot: Robot, recordings: Dataset, args: Measure
) -> tuple[Robot, Effects | None, Dataset]:
    """The robot as identified, and the recordings as it counts, where a calibration is given."""
    if args.calibration is None:
        if args.loaded:
            raise GaplessError("--loaded needs --calibration FILE, made with --plan two-stage")
        return robot, None, recordings
    from gapless.identify import Calibration
    from gapless.identify.conventions import with_signs
    from gapless.identify.held_out import without_loads

    calibration = Calibration.load(args.calibration)
    robot, effects = calibration.apply(robot)
    recordings = recordings.map(lambda recording: with_signs(recording, calibration.signs))
    if not args.loaded:
        if calibration.finds_loads:
            recordings = recordings.map(lambda recording: without_loads([recording])[0])
        return robot, effects, recordings
    if calibration.loaded is None:
        raise GaplessError(f"{args.calibration} has no load; it is made with --plan two-stage")
    full = recordings.select(lambda episode: episode.conditions.payloads != {})
    if not len(full):
        raise GaplessError("no recording is loaded: all state that nothing was carried (--loaded)")
    full = full.map(lambda recording: without_loads([recording])[0])
    return *calibration.loaded.apply(robot, effects), full
