"""A Task: what a trainer is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.runtime.correction import Correction
from gapless.corrections.training.training_windows import drawn_windows
from gapless.measurement.judge import replay_rmse
from gapless.measurement.windows import Windows
from gapless.recordings.recording import Recording
from gapless.worlds.world import World


@dataclass(frozen=True)
class Task:
    """A world that is to behave like recordings.

    Attributes:
        world: calibrated, without this correction, at the recordings' rate.
        train: recordings to learn from.
        validation: recordings to choose by; never those a result is judged by.
        horizon: seconds of an episode, or of the longest window.
        seed: of everything drawn.
    """

    world: World
    train: Sequence[Recording]
    validation: Sequence[Recording]
    horizon: float = 1.0
    seed: int = 0

    def windows(self, seconds: float, limit: int, draw: int = 0) -> Windows:
        """Windows of the training recordings; another `draw` gives others."""
        seed = 1000 * self.seed + draw
        return drawn_windows(self.train, self.world.robot, seconds, limit, seed)

    def error(self, correction: Correction | None) -> float:
        """Replay error over the horizon on the validation recordings, rad."""
        corrections = [] if correction is None else [correction]
        return replay_rmse(
            self.validation, CorrectedWorld(self.world, None, corrections), self.horizon
        )
