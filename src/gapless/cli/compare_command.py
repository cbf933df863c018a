"""`gapless compare`: methods on the same recordings, judged by the same others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapless.cli.compare_parts import forget_parts, make_parts
from gapless.cli.correction_option import literal
from gapless.cli.place_option import Placed
from gapless.cli.split_option import Learning, beside, tell
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import DataError, GaplessError
from gapless.recordings.unit_names import unit

if TYPE_CHECKING:
    from gapless.comparison import Comparison
    from gapless.progress import Watch
    from gapless.recordings import Dataset
    from gapless.recordings.recording import Recordings

ALL = "raw,asap-sysid,identify,delta-dynamics,asap,gaponet,residual-torque,ours"


@dataclass(frozen=True, kw_only=True)
class Compare(Learning, Placed):
    """Train methods on the same recordings and print tables of their held-out errors.

    With --json, methods that are finished are kept: stopped, the same command resumes. With --on,
    each training of each method is a task of its own.
    """

    test_on: Path | None = None
    """Another dataset to judge by too, in tables of its own; motions that are learned from are left
    out."""
    methods: str = ALL
    """Names with commas between them; the raw simulator is always measured."""
    seeds: int = 3
    """Trainings of each method that draws anything."""
    budget: float = 600.0
    """Seconds that reinforcement learning may take."""
    horizons: tuple[str, ...] = ("0.25", "0.5", "1.0", "full")
    """Seconds replayed from recorded states; "full" is the whole clip."""
    horizon: float = 1.0
    """Seconds of an episode in training."""
    windows: int | None = None
    """At most this many windows of each recording and horizon are tested; all by default."""
    set: tuple[str, ...] = ()
    """Other settings of a method, e.g. ours.members=1 or asap.trainer_settings.environments=64."""
    physics_step: float = 0.002
    """Longest physics step, s."""
    restart: bool = False
    """Forget what an earlier run finished."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Compare, "compare", arguments)
    check_outputs(args.json)
    kept = args.json and args.json.with_name(f".{args.json.name}.progress")
    try:
        with stoppable(), progress("comparing") as show:
            if args.on != Placed.on:
                args = make_parts(args, arguments, kept, show)
            found = compared(args, kept, show)
    except KeyboardInterrupt as stop:
        return stopped(stop, kept is not None and kept.exists())
    console().print(found)
    save_json(args.json, found.to_dict())
    if kept is not None:
        kept.unlink(missing_ok=True)
        forget_parts(kept)
    return 0


def compared(
    args: Compare,
    kept: Path | None,
    show: Watch,
    only: tuple[str, int] | None = None,
    title: str = "",
) -> Comparison:
    """The comparison that was asked for, or one training of it.

    Args:
        args: as they were typed.
        kept: file that keeps what is finished.
        show: told how far it is.
        only: method and seed of the one training.
        title: of the other dataset, where it does not lie where it was typed.
    """
    from gapless.comparison.comparing import compare
    from gapless.measurement.spans import parse_horizon

    dataset, robot = args.opened()
    split = replace(args, test_on=None).split(dataset)
    return compare(
        split if only else tell(split),
        robot,
        asked_methods(args),
        test_on={title or name: other for name, other in _others(args, dataset).items()},
        seeds=args.seeds,
        seed=args.seed,
        horizons=[parse_horizon(h) for h in args.horizons],
        horizon=args.horizon,
        budget=args.budget,
        windows=args.windows,
        physics_step=args.physics_step,
        settings=_settings(args.set),
        checkpoint=kept,
        restart=args.restart,
        only=only,
        watch=show,
    )


def asked_methods(args: Compare) -> list[str]:
    """Names of --methods."""
    return [name.strip() for name in args.methods.split(",") if name.strip()]


def _others(args: Compare, dataset: Dataset) -> dict[str, Recordings]:
    """The other dataset by its name; of the units that test, where some are named."""
    if args.test_on is None:
        return {}
    other: Recordings = beside(args.test_on, dataset)
    if args.units:
        other = [r for r in other if unit(r) in args.units]
    if not len(other):
        raise DataError(f"{args.test_on} has no recording of units {', '.join(args.units)}")
    return {told_apart(args.test_on.resolve().parts, args.dataset.resolve().parts): other}


def told_apart(own: tuple[str, ...], other: tuple[str, ...]) -> str:
    """What of a path is not in another: g1_other of g1_other/fit/50hz and g1/fit/50hz."""
    first = _alike(own, other)
    last = _alike(own[first:][::-1], other[first:][::-1])
    return "/".join(own[first : len(own) - last]) or own[-1]


def _alike(some: tuple[str, ...], others: tuple[str, ...]) -> int:
    """How many of the first are equal."""
    equal = [a == b for a, b in zip(some, others, strict=False)]
    return [*equal, False].index(False)


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
