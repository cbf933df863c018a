"""What a hidden robot really does: for scores alone, never for a method.

Only `evaluation`, tests and benchmarks may import this; `tests/test_architecture.py` proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapless.recordings.conditions import Conditions
from gapless.worlds.hidden.hidden_world import HiddenWorld
from gapless.worlds.world import State, Trajectory


def true_state(world: HiddenWorld) -> State:
    """The environments as they are: no noise, no delay, angles of the joints themselves."""
    return world._inner.state


def true_rollout(
    world: HiddenWorld,
    state: State,
    targets: np.ndarray,
    conditions: Sequence[Conditions] | None = None,
) -> Trajectory:
    """Play (n, T, J) targets; what the robot did, not what its log shows of it."""
    inner = world._inner
    played = inner.rollout(state, targets, conditions=world._conditions(conditions))
    return replace(played, q=played.q - inner.effects.encoder_bias)
