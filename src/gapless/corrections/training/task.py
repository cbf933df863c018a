"""A Task: what a trainer is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.training_windows import drawn_windows
from gapless.measurement.judge import replay_error
from gapless.measurement.windows import Windows
from gapless.recordings.recording import Recording
from gapless.worlds.world import World


@dataclass(frozen=True)
class Task:
    """A world that is to behave like recordings.

    Attributes:
        world: calibrated, without this correction, at the recordings' rate.
        learn: recordings to learn from.
        choose: recordings to choose rounds by; without any, the last round is kept.
        horizon: seconds of an episode, or of the longest window.
        seed: of everything drawn.
    """

    world: World
    learn: Sequence[Recording]
    choose: Sequence[Recording]
    horizon: float = 1.0
    seed: int = 0

    def windows(self, seconds: float, limit: int, draw: int = 0) -> Windows:
        """Windows of the training recordings; another `draw` gives others."""
        seed = 1000 * self.seed + draw
        return drawn_windows(self.learn, self.world.robot, seconds, limit, seed)

    def error(self, correction: Correction | None) -> float:
        """Replay error over the horizon on the choosing recordings, rad; NaN where none choose."""
        if not self.choose:
            return float("nan")
        corrections = [] if correction is None else [correction]
        return replay_error(
            self.choose, CorrectedWorld(self.world, None, corrections), self.horizon
        )
