"""The page of a fleet: units side by side, what differs between them, who is unlike the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gapless.artifact import write_text_atomic
from gapless.closing import Run
from gapless.progress import Watch
from gapless.reports.page import FILE, render_page, report, require_extra
from gapless.reports.sections import fleet_parameters_section, fleet_units_section
from gapless.scale import Fleet
from gapless.tasks import FileTask

FLEET_SECTIONS: dict[str, tuple[str, Callable[[Fleet], dict[str, Any] | None]]] = {
    "fleet_units": ("Units side by side", fleet_units_section.data),
    "fleet_parameters": ("Which parameters differ", fleet_parameters_section.data),
}
FLEET_FILE = "fleet.html"


def report_fleet(fleet: Fleet | str | Path, out: str | Path | None = None) -> Path:
    """Write the page of a fleet.

    Args:
        fleet: what `close_fleet` found, or its folder.
        out: the file; fleet.html in the folder by default.
    """
    require_extra()
    shown = fleet if isinstance(fleet, Fleet) else Fleet.open(fleet)
    path = Path(out) if out else shown.path / FLEET_FILE
    robots = ", ".join(sorted({unit.robot for unit in shown.units}))
    write_text_atomic(path, render_page(f"gapless: a fleet of {robots}", FLEET_SECTIONS, shown))
    return path


def page_tasks(fleet: Fleet) -> list[FileTask]:
    """The pages of its runs, as tasks."""
    runs = {unit.name: fleet.path / unit.name for unit in fleet.units}
    return [
        FileTask(f"page of {name}", f"{__name__}:write_page", {}, {"run": run}, run / FILE)
        for name, run in runs.items()
    ]


def write_page(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """The task of a page."""
    report(Run.open(files["run"]), out, watch)
