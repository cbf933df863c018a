"""`gapless close`: the whole loop, from recordings to a corrected simulator and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.correction_option import settings_of
from gapless.cli.fleet_report import close_many
from gapless.cli.place_option import Placed
from gapless.cli.robot_option import OfRobot
from gapless.cli.split_option import share_or_patterns
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import GaplessError, MissingExtraError

if TYPE_CHECKING:
    from gapless.closing import CloseSettings, Run
    from gapless.progress import Watch


@dataclass(frozen=True, kw_only=True)
class Close(OfRobot, Placed):
    """Check, measure, identify, learn what is left, keep what helps, report on held-out motions.

    Several datasets, one for each unit of a fleet, have a run each and a page together. Stopped or
    killed, the same command resumes.
    """

    datasets: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folder of a dataset; make one with gapless import or gapless collect. Several are units of a
    fleet."""
    out: Path
    """Folder of the run, or of the fleet's runs."""
    learn: tuple[str, ...] = ()
    """Patterns of the motions to learn from and choose by; all others are held out, or those that
    --test names."""
    test: tuple[str, ...] = ()
    """Motions that are held out and only reported: patterns of their names, or a share; 0.25."""
    set: tuple[str, ...] = ()
    """Other settings than those that suit the recordings, e.g. horizon=0.5, model=operator,
    'parameters=["kp","frictionloss"]', test=0.3, 'units=["4"]'."""
    policy: Path | None = None
    """Policy under which the robot was recorded: what is kept must also predict where it takes the
    robot (takes of a motion, from its start), or how it walks under its commands."""
    restart: bool = False
    """Forget an earlier run in that folder."""
    json: Path | None = None
    """File for the summary; it is also in the run."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Close, "close", arguments)
    check_outputs(args.json)
    if not args.datasets:
        raise GaplessError("which recordings? gapless close DATA --out RUN")
    if args.policy and (len(args.datasets) > 1 or args.on != Placed.on):
        raise GaplessError(
            "--policy is of one dataset that is closed here; leave out --on, and close units of a "
            "fleet one by one"
        )
    if len(args.datasets) > 1:
        return close_many(args, _settings(args))
    try:
        with stoppable(), progress("closing") as show:
            found = _closed(args, show)
    except KeyboardInterrupt as stop:
        return stopped(stop, (args.out / "run.json").exists())
    for note in found.facts["notes"]:
        console(stderr=True).print(f"note: {note}", markup=False)
    console().print(found)
    save_json(args.json, found.summary)
    console().print(f"simulator {args.out / 'use.py'}")
    _report(found)
    return 0


def _closed(args: Close, show: Watch) -> Run:
    """The run of one dataset, made here or elsewhere."""
    from gapless.closing import close
    from gapless.policies.policy_files import load_policy
    from gapless.recordings import Dataset, robot_of
    from gapless.scale.fleet_closing import close_elsewhere

    (path,) = args.datasets
    dataset, settings = Dataset.open(path), _settings(args)
    robot = robot_of(dataset, args.robot, args.mount, args.lock)
    if args.on == Placed.on:
        policy = load_policy(args.policy, robot) if args.policy else None
        how = {"settings": settings, "policy": policy, "restart": args.restart}
        return close(dataset, robot, args.out, **how, watch=show)
    workers, again = args.workers(), args.restart
    return close_elsewhere(
        path, robot, args.out, workers, settings=settings, restart=again, watch=show
    )


def _settings(args: Close) -> CloseSettings:
    from gapless.closing import CloseSettings

    told = settings_of("set", args.set, CloseSettings())
    told |= {"learn": args.learn} if args.learn else {}
    told |= {"test": share_or_patterns(args.test)} if args.test else {}
    return CloseSettings(**told)


def _report(found: Run) -> None:
    """Write the page, or say what it needs: the run itself is whole without it."""
    from gapless.reports import report

    try:
        with progress("report") as show:
            path = report(found, watch=show)
    except MissingExtraError as error:
        console(stderr=True).print(f"note: no report was written; {error}", markup=False)
    else:
        console().print(f"report    {path}")
