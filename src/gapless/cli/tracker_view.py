"""The training of a tracker as it goes, and what it gave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from gapless.artifact import read_json
from gapless.cli.terminal import console, progress, save_json
from gapless.progress import Progress, Watch

if TYPE_CHECKING:
    from gapless.policies import Policy

SHOWN = {"reward": "reward", "error_mm": "error mm", "choose": "choosing error m", "noise": "noise"}
"""Figures of an iteration that are shown, and what they are called."""


@contextmanager
def shown_tracker(log: Watch) -> Iterator[Watch]:
    """A bar with the reward and the error; everything goes to the log."""
    with progress("training") as show:
        known: dict[str, float] = {}

        def watch(now: Progress) -> None:
            log(now)
            known.update({SHOWN[k]: v for k, v in now.figures.items() if k in SHOWN})
            show(Progress("", now.done, now.total, dict(known), now.seconds_left))

        yield watch


def report_tracker(policy: Policy, json: Path | None) -> dict[str, Any]:
    """The answer, and how it was reached."""
    training = read_json(policy.source.parent / "training.json")
    table = Table("iteration", "mean body distance (mm)", title="whole motions, as they chose")
    for iteration, error in training["course"]:
        table.add_row(str(iteration), f"{1000 * error:.0f}")
    out = console()
    out.print(
        f"{policy.name}: bodies are {1000 * training['error_m']:.0f} mm from the motion on average "
        f"where it was trained; {training['samples'] / 1e6:.2f} M control steps in "
        f"{training['seconds'] / 60:.1f} min"
    )
    out.print(table)
    save_json(json, training)
    return training
