"""`gapless identify`: physical parameters of a robot from its recordings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.artifact import write_text_atomic
from gapless.cli.place_option import Placed
from gapless.cli.split_option import Learning
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import ArtifactError, GaplessError
from gapless.recordings import Dataset, Split
from gapless.robots import Robot

if TYPE_CHECKING:
    from gapless.identification import Calibration


@dataclass(frozen=True, kw_only=True)
class Identify(Learning, Placed):
    """Fit a simulator's parameters to recordings, with intervals; other motions decide.

    With --on, units of a fleet are tasks, and where motions choose in turn what each chooses for.
    """

    out: Path
    """File for the calibration (JSON)."""
    set: tuple[str, ...] = ("actuators",)
    """What to find: auto (a ladder finds what helps); actuators, drives, inertials, inertias,
    payload, asap, all; kinds such as kp or mass; or places: kp/arms, mass/torso_link, kp@sides."""
    plan: str = "per-joint"
    """per-joint, whole, two-stage, one-stage or fleet."""
    optimiser: str = "gauss-newton"
    """gauss-newton, gradient, cma or grid."""
    payload: tuple[str, ...] = ("payload",)
    """What the second stage of two-stage finds."""
    loaded: tuple[str, ...] = ()
    """Patterns of the names of loaded recordings; by default those that state a load."""
    unloaded: bool = False
    """Use only recordings that state that nothing was carried."""
    horizon: float = 1.0
    """Seconds replayed from recorded states."""
    windows: int = 48
    """Most stretches that are fitted."""
    hardest: float = 0.0
    """Share of them that the nominal robot repeats worst: torque limits show in few places."""
    objective: str = "joints"
    """joints, or bodies (HALO's body positions)."""
    loss: str = "huber"
    """huber, squared or cauchy."""
    starts: str = "read"
    """read, or free: starts may err within what reading them allows."""
    begin: str = "prior"
    """prior, or torque: masses and centres first from torques, by one linear fit."""
    bounds: tuple[str, ...] = ()
    """Other bounds: kp=5:100 or 'frictionloss/*elbow*=0:2'."""
    prior: tuple[str, ...] = ()
    """Other value and std: mass/torso_link=9.6:0.5."""
    box: tuple[str, ...] = ()
    """HALO's box regularisers, shares of the prior: damping=0.8:1.2."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    find_signs: bool = False
    """First find joints that the log counts the other way than the robot."""
    keep_anyway: bool = False
    """Write a calibration even where the choosing motions do not improve."""
    overwrite: bool = False
    """Replace an existing calibration."""
    mjcf: Path | None = None
    """File for the calibrated robot as a plain MJCF."""
    plots: Path | None = None
    """Folder for pictures: intervals and correlations, replays before and after."""
    json: Path | None = None
    """File for the numbers beside the table."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Identify, "identify", arguments)
    from gapless.identification import IdentifySettings, identify
    from gapless.identification.plans.fit_checkpoint import FitCheckpoint
    from gapless.measurement.gap_plots import require_matplotlib

    check_outputs(args.out, args.mjcf, args.json, args.plots and args.plots / "replays.png")
    if args.plots:
        require_matplotlib()
    if args.out.exists() and not args.overwrite:
        raise ArtifactError(f"{args.out} exists; use --overwrite, or another --out")
    dataset, robot = args.opened()
    split = _split(dataset, args)
    settings = IdentifySettings(
        horizon=args.horizon,
        windows=args.windows,
        hardest=args.hardest,
        objective=args.objective,
        loss=args.loss,
        starts=args.starts,
        begin=args.begin,
        bounds=_pairs("bounds", args.bounds),
        priors=_pairs("prior", args.prior),
        boxes=_pairs("box", args.box),
        optimiser=args.optimiser,
        physics_step=args.physics_step,
    )
    checkpoint = args.out.with_name(f".{args.out.name}.progress")
    try:
        with stoppable(), progress("identifying") as show:
            calibration = identify(
                split,
                robot,
                args.set,
                plan=args.plan,
                settings=settings,
                payload=args.payload,
                loaded=args.loaded or None,
                find_signs=args.find_signs,
                keep_anyway=args.keep_anyway,
                checkpoint=checkpoint,
                watch=show,
                workers=None if args.on == Placed.on else args.workers(),
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, checkpoint.exists())
    calibration.save(args.out)
    FitCheckpoint(checkpoint).clear()
    console().print(calibration)
    if args.mjcf:
        write_text_atomic(args.mjcf, calibration.to_mjcf(robot))
        if calibration.loaded is not None:
            console(stderr=True).print(f"{args.mjcf} is the robot without its load")
    if args.plots:
        _draw(args, calibration, robot, split)
    made = calibration.made_by
    console(stderr=True).print(
        f"calibration written to {args.out} in {made['seconds']} s; "
        f"next: gapless measure {args.dataset} --calibration {args.out}{_same_robot(args)}"
    )
    save_json(args.json, calibration.to_dict())
    return 0


def _same_robot(args: Identify) -> str:
    """The options that another command needs to mean the same robot."""
    named = {"robot": args.robot, "mount": args.mount, "lock": " ".join(args.lock)}
    return "".join(f" --{name} {value}" for name, value in named.items() if value)


def _draw(args: Identify, calibration: Calibration, robot: Robot, split: Split) -> None:
    """Intervals, and replays of held-out motions before and after."""
    from gapless.identification.calibration_plots import plot_replays
    from gapless.worlds import MujocoWorld

    assert args.plots is not None
    args.plots.mkdir(parents=True, exist_ok=True)
    calibration.plot(args.plots / "calibration.png")
    shown = calibration.recordings(list(split.test) or list(split.learn))
    step, rate = args.physics_step, shown[0].rate
    plot_replays(
        [shown[i] for i in range(len(shown))],
        MujocoWorld(robot, rate, physics_step=step),
        calibration.world(robot, rate, physics_step=step),
        args.plots / "replays.png",
        args.horizon,
    )
    console(stderr=True).print(f"pictures written to {args.plots}")


def _split(dataset: Dataset, args: Identify) -> Split:
    """The recordings by their use; every part of a plan of two stages has loaded ones."""
    from gapless.identification.plans.two_stage import is_loaded

    if args.unloaded:
        dataset = dataset.select(lambda e: e.conditions.payloads == {})
        if not len(dataset):
            raise GaplessError("no recording states that nothing was carried (--unloaded)")
    staged = args.plan in ("one-stage", "two-stage")
    return args.split(dataset, stratum=lambda r: staged and is_loaded(r, args.loaded or None))


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """name=first:second of an option."""
    found = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        try:
            first, second = (float(number) for number in numbers.split(":"))
            if not (math.isfinite(first) and math.isfinite(second)):
                raise ValueError
        except ValueError:
            raise GaplessError(
                f"--{option} {text!r} is not understood; expected name=number:number, both finite"
            ) from None
        found[name] = (first, second)
    return found
