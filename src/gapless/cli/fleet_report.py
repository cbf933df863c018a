"""What `gapless close` does with several datasets: runs, their pages, and the fleet's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import console, progress, save_json
from gapless.errors import MissingExtraError

if TYPE_CHECKING:
    from gapless.cli.close_command import Close
    from gapless.closing import CloseSettings
    from gapless.scale import Fleet
    from gapless.tasks import Workers


def close_many(args: Close, settings: CloseSettings) -> int:
    """Close every dataset, and show the units side by side; 1 where some could not be closed."""
    from gapless.scale import close_fleet

    workers = args.workers()
    try:
        with stoppable(), progress("closing") as show:
            fleet = close_fleet(
                args.datasets,
                args.out,
                robot=args.robot,
                mount=args.mount,
                lock=args.lock,
                settings=settings,
                restart=args.restart,
                workers=workers,
                watch=show,
            )
            _pages(fleet, workers)
    except KeyboardInterrupt as stop:
        return stopped(stop, args.out.exists())
    console().print(fleet)
    save_json(args.json, fleet.to_dict())
    return 1 if fleet.failed else 0


def _pages(fleet: Fleet, workers: Workers) -> None:
    """The page of each run, made where the runs were, then the fleet's."""
    from gapless.reports.fleet_page import page_tasks, report_fleet
    from gapless.reports.page import require_extra

    try:
        require_extra()
    except MissingExtraError as error:
        console(stderr=True).print(f"note: no page was written; {error}", markup=False)
        return
    with progress("pages") as show:
        for run, why in workers.run(page_tasks(fleet), show).items():
            console(stderr=True).print(f"note: {run}: {why}", markup=False)
    console().print(f"fleet     {report_fleet(fleet)}")
