"""`gapless demo`: the main job on a robot that is not there, from recordings to a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapless.cli import close_command
from gapless.cli.required_extras import require_extras
from gapless.cli.terminal import console, parse, progress

if TYPE_CHECKING:
    from gapless.collection import CollectionPlan

NEEDED = {
    "matplotlib": "plots",
    "mink": "motions",
    "torch": "learn",
    "jinja2": "report",
    "plotly": "report",
    "trimesh": "report",
}
"""Module -> the extra that brings it; asked for before anything is recorded."""


@dataclass(frozen=True)
class Demo:
    """Record the arms of a hidden H1-2 that carries 0 to 3 kg, then close its gap.

    The hidden robot differs from its model in gains, friction, delay, backlash, heat and more; what
    it is made of is hidden from the methods, which see its recordings only. Stopped, the same
    command resumes.
    """

    out: Path = Path("out/demo")
    """Folder for the recordings and the run."""
    hours: float = 0.15
    """Robot time to record."""
    seed: int = 0
    """Of the motions and the hidden robot."""
    set: tuple[str, ...] = ()
    """Other choices, as those of gapless close."""
    restart: bool = False
    """Forget what an earlier demo made there."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Demo, "demo", arguments)
    require_extras("the demo", NEEDED)
    from gapless.closing import Run
    from gapless.reports.summary_picture import summary_picture

    recordings, folder = _recorded(args), args.out / "run"
    others = ["--set", *args.set] if args.set else []
    again = ["--restart"] if args.restart else []
    if code := close_command.run([str(recordings), "--out", str(folder), *others, *again]):
        return code
    picture = summary_picture(Run.open(folder), args.out / "demo.png")
    console().print(f"picture {picture}\nnext    gapless view {folder}")
    return 0


def _recorded(args: Demo) -> Path:
    """Record, or take what is there; the folder of the dataset."""
    from gapless.collection import collect

    with progress("recording a hidden H1-2") as show:
        collection = collect(
            plan(args),
            args.out / "recordings",
            watch=show,
            restart=args.restart,
        )
    return collection.path / collection.datasets[0].name


def plan(args: Demo) -> CollectionPlan:
    """A small SimLifter: one unit, each motion once for each load."""
    from gapless.collection import preset

    few = {"units": (1,), "held_out": (), "rates": (50,), "repeats": 1}
    return replace(preset("simlifter"), hours=args.hours, seed=args.seed, **few)
