"""`gapless measure`: how far a simulator is from a dataset, where and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.correction_option import calibration_of, usage_figures
from gapless.cli.robot_option import OfDataset
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.measurement import measure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gapless.cli.taught_note import Taught
    from gapless.corrections import CorrectedWorld
    from gapless.identification import Calibration
    from gapless.recordings import Dataset
    from gapless.worlds import MujocoWorld
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Measure(OfDataset):
    """Replay a dataset in MuJoCo and print the gap: by horizon, by joint, by cause."""

    horizons: tuple[str, ...] = ("0.25", "0.5", "1.0", "full")
    """Seconds replayed from recorded states; "full" is the whole clip."""
    windows: int | None = None
    """At most this many windows of each recording and horizon; all by default."""
    threshold: float = 0.5
    """Joint error that counts as a large gap, rad."""
    calibration: Path | None = None
    """File of gapless identify: measure the gap that is left with the identified parameters."""
    loaded: bool = False
    """With the load that a two-stage calibration found, on the recordings that carry one."""
    correction: tuple[Path, ...] = ()
    """Folders of gapless correct, applied in order: measure the gap that is left with them."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    causes: bool = True
    """Attribute the error to likely causes."""
    include_flagged: bool = False
    """Also measure recordings that the import flagged as unfit."""
    reference_as_command: bool = False
    """Play recorded positions as commands, for reference motions that command nothing."""
    json: Path | None = None
    """File for the numbers."""
    dump: Path | None = None
    """Folder for the last states before each divergence."""
    plots: Path | None = None
    """Folder for a PNG of command, real and simulated curves of each recording."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Measure, "measure", arguments)
    from gapless.corrections import CorrectedWorld
    from gapless.measurement.gap_plots import plot_recordings, require_matplotlib
    from gapless.measurement.spans import parse_horizon
    from gapless.worlds import MujocoWorld

    check_outputs(args.json, args.plots and args.plots / "gap.png")
    if args.plots:
        require_matplotlib()
    dataset, robot = args.opened()
    recordings = dataset
    if args.reference_as_command:
        recordings = dataset.map(lambda recording: recording.with_reference_as_command())
    calibration = calibration_of(args.calibration, args.loaded)
    if calibration is not None:
        recordings = calibration.recordings(recordings)
    nominal = MujocoWorld(robot, dataset.rate, physics_step=args.physics_step)
    world = _corrected(nominal, calibration, args.correction)
    with progress("measuring") as show:
        gap = measure(
            recordings,
            world,
            horizons=[parse_horizon(h) for h in args.horizons],
            threshold=args.threshold,
            windows=args.windows,
            attribution=args.causes,
            include_flagged=args.include_flagged,
            dump=args.dump,
            watch=show,
        )
    console().print(gap)
    figures = gap.to_dict()
    if calibration is not None or args.correction:
        taught = _taught(args, dataset, calibration)
        figures["taught"] = taught.to_dict()
        if taught.note:
            console().print(f"note: {taught.note}", markup=False)
    if isinstance(world, CorrectedWorld):
        console().print(*_usage(world))
        figures["corrections"] = usage_figures(world)
    save_json(args.json, figures)
    if args.plots:
        pictures = [
            *plot_recordings(recordings, world, args.plots),
            gap.plot(args.plots / "gap.png"),
        ]
        console(stderr=True).print(f"{len(pictures)} pictures written to {args.plots}")
    return 0


def _corrected(
    nominal: MujocoWorld, calibration: Calibration | None, folders: tuple[Path, ...]
) -> World:
    """The calibrated world with corrections, where any are given."""
    from gapless.corrections import CorrectedWorld, Correction

    world = CorrectedWorld(nominal, calibration, [Correction.load(f) for f in folders])
    return world if folders else world.world  # causes are tried in a plain world


def _taught(args: Measure, dataset: Dataset, calibration: Calibration | None) -> Taught:
    """What the recordings that are measured did for what is measured."""
    from gapless.cli.taught_note import Taught
    from gapless.corrections import Correction

    shown = dataset.select(lambda e: args.include_flagged or not e.flags)
    splits = [Correction.load(folder).made_by.get("split", {}) for folder in args.correction]
    return Taught.of(shown, [{} if calibration is None else calibration.split, *splits])


def _usage(world: CorrectedWorld) -> Iterator[RenderableType]:
    """What each correction did."""
    from gapless.corrections.correction_tables import outside_line, usage_table

    for correction, usage in zip(world.corrections, world.usage, strict=True):
        yield usage_table(usage, correction.contract)
        yield outside_line(usage)
