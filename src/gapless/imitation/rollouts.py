"""Rollouts: a teacher or its student at work, and what the teacher would do at every step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gapless.imitation.samples import Samples
from gapless.tracking.tracker_episodes import Acting
from gapless.tracking.tracking_task import TrackingTask
from gapless.worlds.world import World


def record_rollouts(
    world: World,
    task: TrackingTask,
    teach: Acting,
    act: Acting | None,
    steps: int,
    foreseen: int,
    draw: int,
    tell: Callable[[], None] = lambda: None,
) -> Samples:
    """So many control steps of all environments of a task; episodes that end begin anew.

    Args:
        world: nobody else's.
        task: whose observations teacher and student both see.
        teach: what is recorded.
        act: who acts; the teacher itself where it is None.
        steps: of each environment.
        foreseen: moments that a sample looks ahead.
        draw: everything that is drawn depends on it.
        tell: called after every step.
    """
    task.renew(draw)
    everyone = np.ones(len(task.observed), bool)
    start = task.begin(np.flatnonzero(everyone))
    world.reset(start.state, conditions=start.conditions)
    task.look(start.state, everyone)
    seen, wanted, ended = [], [], []
    for _ in range(steps):
        seen.append(task.observed)
        wanted.append(teach(task.observed))
        done = _stepped(world, task, wanted[-1] if act is None else act(task.observed))
        ended.append(done)
        tell()
    return Samples.of_rollout(np.array(seen), np.array(wanted), np.array(ended), foreseen)


def _stepped(world: World, task: TrackingTask, action: np.ndarray) -> np.ndarray:
    """(n,) whose episodes ended by the step; they have begun anew."""
    command = task.command(action.astype(float), True)
    if command.push is not None and command.push.any():
        world.push(command.push)
    state = world.step(command.target)
    lost = world.health.diverged
    task.reward(state, lost)
    done = lost | task.terminated() | task.expired()
    rows = np.flatnonzero(done)
    if len(rows):
        start = task.begin(rows)
        world.reset(start.state, rows, start.conditions)
        state = state.with_rows(rows, start.state.completed(state[rows]))
    task.look(state, done)
    return done
