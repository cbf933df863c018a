"""Whole motions under a network, from their first frame: what chooses between trainings' rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds.world import World

Acting = Callable[[np.ndarray], np.ndarray]
Each = Callable[[int, np.ndarray], None]

FAR = 0.5
"""Mean body distance at which a tracker has failed, m; what comes after counts as much."""


def whole_episodes(
    world: World,
    task: TrackingTask,
    act: Acting,
    seen: list[np.ndarray] | None = None,
    *,
    starts: int | None = None,
    each: Each | None = None,
) -> np.ndarray:
    """(n,) mean distance of bodies from the reference, m; a failure counts FAR from then on.

    Args:
        world: nobody else's.
        task: whose episodes begin at the first frame.
        act: (n, A) what a policy does where it sees (n, width); `MlpWeights` is one.
        seen: is given every observation, where it is there.
        starts: that differ; environments after them begin as they do. All by default.
        each: told the control step and (n,) who has failed, after each.
    """
    task.renew(0)
    count = len(task.observed)
    start = task.begin(np.arange(count))
    begun = start.state[np.arange(count) % (starts or count)]
    world.reset(begun, conditions=start.conditions)
    task.look(begun, np.ones(count, bool))
    failed, total = np.zeros(count, bool), np.zeros(count)
    for k in range(task.max_episode_length):
        looked = task.observed
        if seen is not None:
            seen.append(looked)
        told = task.command(act(looked).astype(float), True)
        if told.push is not None and told.push.any():
            world.push(told.push)
        state = world.step(told.target)
        lost = world.health.diverged
        task.reward(state, lost)
        failed |= lost | (task.distance > FAR)
        total += np.where(failed, FAR, task.distance)
        if each is not None:
            each(k, failed)
        whole = state.with_rows(np.flatnonzero(lost), begun[lost]) if lost.any() else state
        task.look(whole, np.zeros(count, bool))
    return total / task.max_episode_length
