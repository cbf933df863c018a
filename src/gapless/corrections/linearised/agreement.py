"""Agreement: how far along a trajectory slopes foretell what the simulator does.

A foot that lands, or a joint that comes loose, makes slopes of single steps that multiply to
nonsense within a few steps. Each trajectory is therefore played once more with a small offset, and
believed, position by position, as long as its slopes foretell the difference.
"""

from __future__ import annotations

import numpy as np

from gapless.corrections.linearised.slopes import Slopes, Trajectories, output_step
from gapless.corrections.linearised.tangent import difference
from gapless.worlds.world import World

MISS = 1.0
"""Slopes may miss a position by this share of the largest change that any has had so far."""


def believed(
    world: World, path: Trajectories, slopes: Slopes, head: str, columns: np.ndarray
) -> np.ndarray:
    """(n, T, V) True for every position up to the step from which on its slopes mislead."""
    half, steps = slopes.state.shape[-1] // 2, path.steps
    if head == "state":
        return np.ones((len(path.targets), steps, half), bool)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(path.targets), len(columns)))
    offset = signs * np.array([output_step(world.robot, head, int(j)) for j in columns])
    came = _change(world, path, head, columns, offset)[..., :half]
    told = _foretold(slopes, offset, steps)[..., :half]
    size = np.maximum.accumulate(np.abs(came).max(-1, keepdims=True), axis=1)
    return np.logical_and.accumulate(np.abs(told - came) <= MISS * size, axis=1)


def _change(
    world: World, path: Trajectories, head: str, columns: np.ndarray, offset: np.ndarray
) -> np.ndarray:
    """(n, T, 2V) difference of the states that an offset of all outputs makes."""
    asked = path.targets[:, path.before :].copy()
    torques = None if path.torques is None else path.torques.copy()
    if head == "action":
        asked[..., columns] += offset[:, None]
    else:
        torques = np.zeros_like(asked) if torques is None else torques
        torques[..., columns] += offset[:, None]
    played = world.rollout(
        path.states[:, 0],
        asked,
        torques=torques,
        history=path.targets[:, : path.before],
        conditions=path.conditions,
    )
    return difference(played[:, 1:], path.states[:, 1:])


def _foretold(slopes: Slopes, offset: np.ndarray, steps: int) -> np.ndarray:
    """The same as slopes have it."""
    change, found = np.zeros((len(offset), slopes.state.shape[-1])), []
    for t in range(steps):
        # Outputs before the first step were not changed.
        answer = slopes.output[:, t, : t + 1].sum(axis=1)
        change = (slopes.state[:, t] @ change[..., None] + answer @ offset[..., None])[..., 0]
        change = np.clip(change, -1e6, 1e6)
        found.append(change)
    return np.stack(found, axis=1)
