"""What several sections read of a run: the stages that were measured, by the simulator's name."""

from __future__ import annotations

from gapless.closing import Run
from gapless.closing.stage import Stage


def measured(run: Run) -> dict[str, Stage]:
    """Stages that have a gap."""
    return {name: stage for name, stage in run.stages.items() if stage.gap is not None}


def last_kept(stages: dict[str, Stage]) -> str:
    """The last stage that is part of the simulator."""
    return [name for name, stage in stages.items() if stage.kept][-1]
