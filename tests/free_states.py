"""States of a robot whose base moves, drawn at random."""

from __future__ import annotations

import numpy as np

from gapless.worlds.world import State


def free_states(count: int, seed: int = 0) -> State:
    """States of a robot with three joints that flies about."""
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(count, 4))
    return State(
        q=rng.normal(size=(count, 3)),
        dq=rng.normal(size=(count, 3)),
        base_pos=rng.normal(size=(count, 3)),
        base_quat_wxyz=turn / np.linalg.norm(turn, axis=1, keepdims=True),
        base_lin_vel_w=rng.normal(size=(count, 3)),
        base_ang_vel_b=rng.normal(size=(count, 3)),
    )
