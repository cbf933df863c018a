"""`gapless compare`: methods on the same recordings, judged by the same others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapless.cli.correction_option import literal, trained_and_judged
from gapless.cli.robot_option import OfDataset
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, save_json, spinner
from gapless.errors import GaplessError

ALL = "raw,asap-sysid,identify,delta-dynamics,asap,gaponet,residual-torque,ours"


@dataclass(frozen=True, kw_only=True)
class Compare(OfDataset):
    """Train methods on the same recordings and print one table of their held-out errors.

    With --json, methods that are finished are kept: stopped, the same command goes on.
    """

    methods: str = ALL
    """Names with commas between them; the raw simulator is always measured."""
    fit: tuple[str, ...] = ()
    """Patterns of the motions to train on; all others are held out."""
    held_out: float = 0.25
    """Share of the motions to hold out, where --fit does not say."""
    units: tuple[str, ...] = ()
    """Judge only by these units, and train only on the others."""
    judge: Path | None = None
    """Another dataset to judge by; motions that are trained on are left out."""
    seeds: int = 3
    """Trainings of each method that draws anything."""
    seed: int = 0
    """Of the split, and of the first training."""
    budget: float = 600.0
    """Seconds that reinforcement learning may take."""
    horizons: tuple[str, ...] = ("0.25", "0.5", "1.0", "full")
    """Seconds replayed from recorded states; "full" is the whole clip."""
    horizon: float = 1.0
    """Seconds of an episode in training."""
    windows: int | None = None
    """At most this many windows of each recording and horizon are judged; all by default."""
    set: tuple[str, ...] = ()
    """Other choices of a method, e.g. ours.members=1 or asap.trainer_settings.copies=64."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    restart: bool = False
    """Forget what an earlier run finished."""
    json: Path | None = None
    """File for the figures."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Compare, "compare", arguments)
    from gapless.comparison.comparing import compare
    from gapless.measurement.spans import parse_horizon

    check_outputs(args.json)
    dataset, robot = args.opened()
    train, judged_by = trained_and_judged(dataset, args.judge, args.fit, args.held_out, args.seed)
    progress = args.json and args.json.with_name(f".{args.json.name}.progress")
    try:
        with stoppable(), spinner("comparing") as say:
            found = compare(
                train,
                robot,
                [name.strip() for name in args.methods.split(",") if name.strip()],
                held_out=judged_by,
                units=args.units,
                seeds=args.seeds,
                seed=args.seed,
                horizons=[parse_horizon(h) for h in args.horizons],
                horizon=args.horizon,
                budget=args.budget,
                windows=args.windows,
                physics_step=args.physics_step,
                settings=_settings(args.set),
                checkpoint=progress,
                restart=args.restart,
                watch=lambda method, seed, done: say(f"{method}, seed {seed}, {done:.0%}"),
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, progress is not None and progress.exists())
    console().print(found)
    save_json(args.json, found.to_dict())
    if progress is not None:
        progress.unlink(missing_ok=True)
    return 0


def _settings(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """METHOD.KEY=VALUE or METHOD.KEY.SUBKEY=VALUE of --set, nested."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        path, _, value = text.partition("=")
        method, *keys = path.split(".")
        if not value or not 1 <= len(keys) <= 2 or not all(keys):
            raise GaplessError(f"--set {text!r} is not understood; expected METHOD.KEY=VALUE")
        place = found.setdefault(method, {})
        if len(keys) == 2:
            place = place.setdefault(keys[0], {})
        place[keys[-1]] = literal(value)
    return found
