"""`gapless close`: the whole loop, from recordings to a corrected simulator and a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli.correction_option import settings_of
from gapless.cli.robot_option import OfDataset
from gapless.cli.split_option import share_or_patterns
from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse, progress, save_json
from gapless.errors import MissingExtraError

if TYPE_CHECKING:
    from gapless.closing import CloseSettings, Run


@dataclass(frozen=True, kw_only=True)
class Close(OfDataset):
    """Check, measure, identify, learn what is left, keep what helps, report on held-out motions.

    Stopped or killed, the same command resumes.
    """

    out: Path
    """Folder of the run."""
    learn: tuple[str, ...] = ()
    """Patterns of the motions to learn from and choose by; all others are held out, or those that
    --test names."""
    test: tuple[str, ...] = ()
    """Motions that are held out and only reported: patterns of their names, or a share; 0.25."""
    set: tuple[str, ...] = ()
    """Other settings than those that suit the recordings, e.g. horizon=0.5, model=operator,
    'parameters=["kp","frictionloss"]', test=0.3, 'units=["4"]'."""
    restart: bool = False
    """Forget an earlier run in that folder."""
    json: Path | None = None
    """File for the summary; it is also in the run."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Close, "close", arguments)
    from gapless.closing import close

    check_outputs(args.json)
    dataset, robot = args.opened()
    try:
        with stoppable(), progress("closing") as show:
            found = close(
                dataset,
                robot,
                args.out,
                restart=args.restart,
                watch=show,
                settings=_settings(args),
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, (args.out / "run.json").exists())
    for note in found.facts["notes"]:
        console(stderr=True).print(f"note: {note}", markup=False)
    console().print(found)
    save_json(args.json, found.summary)
    console().print(f"simulator {args.out / 'use.py'}")
    _report(found)
    return 0


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
