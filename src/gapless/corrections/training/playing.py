"""Windows played with a correction, and what it gave at each step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.corrected_world import CorrectedWorld
from gapless.corrections.runtime.correction import Correction
from gapless.measurement.windows import Windows
from gapless.worlds.world import State, World


@dataclass(frozen=True)
class Play:
    """n windows of T steps.

    Attributes:
        states: (n, T+1, ...).
        output: (n, T, K) of the correction.
        valid: (n, T+1) False from the moment an environment diverged.
    """

    states: State
    output: np.ndarray
    valid: np.ndarray


def play(world: World, windows: Windows, correction: Correction) -> Play:
    """Play windows in a world with a correction on top."""
    corrected = CorrectedWorld(world, None, [correction])
    corrected.reset(
        windows.start,
        conditions=windows.conditions,
        history=windows.history,
    )
    states, outputs = [windows.start], []
    valid = [np.ones(len(windows), bool)]
    for t in range(windows.steps):
        states.append(corrected.step(windows.held[:, t]))
        outputs.append(corrected.last_output(0))
        valid.append(~corrected.health.diverged)
    return Play(State.stack(states, axis=1), np.stack(outputs, axis=1), np.stack(valid, axis=1))
