"""Rows of the closed-loop table: what data, windows and size of a correction do to the policy.

ASAP's Figure 10 and Table V: `data-N` learns from N takes, `horizon-S` over windows of at most S
seconds, `weight-W` with that weight on the size of outputs, each on what was identified from all
takes; `outside` tunes in the simulator that was made of takes of another motion.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapless.closing import Run
from gapless.closing.close_settings import GENTLE
from gapless.corrections import CorrectedWorld, correct
from gapless.corrections.correcting import CorrectSettings
from gapless.errors import DataError
from gapless.recordings import Split

DATA, HORIZON, WEIGHT = (4, 8), (0.1, 0.3), (0.0, 0.1)
SWEPT = (
    *(f"data-{n}" for n in DATA),
    *(f"horizon-{s:g}" for s in HORIZON),
    *(f"weight-{w:g}" for w in WEIGHT),
)
"""Rows beside the usual correction: all takes, windows up to 0.6 s, a weight of 0.001."""
OUTSIDE = "outside"


def swept_simulator(run: Run, split: Split, row: str, seed: int) -> CorrectedWorld:
    """The simulator of a run with a correction whose training differs in one setting."""
    name, _, text = row.partition("-")
    value = float(text)
    changes: dict[str, Any] = {}
    if name == "data":
        split = Split.of(list(split.learn)[: int(value)], split.choose)
    elif name == "horizon":
        changes = {"horizons": (value / 2, value)}
    else:
        changes = {"size": value}
    settings = CorrectSettings(model="actuator", trainer_settings={**GENTLE, **changes})
    found = correct(
        *(split, run.raw(), run.calibration),
        settings=settings,
        seed=seed,
        keep_anyway=True,  # a setting that does not help is shown as such
    )
    return CorrectedWorld(run.raw(), run.calibration, [found])


def simulator_of_another(folder: Path, motion: str | None, seed: int) -> CorrectedWorld:
    """What `ours` made of another motion's takes on the same robot."""
    run = folder / f"{motion}_{seed}" / "run_1"
    if motion is None or not run.exists():
        raise DataError(
            f"the row {OUTSIDE!r} tunes in the simulator of another motion, and {run} is not "
            "there: make that motion's `ours` first, and name it with --recorded"
        )
    return Run.open(run).world()
