"""Agreement: how far along a trajectory slopes foretell what the simulator does.

A foot that lands, or a joint that comes loose, makes slopes of single steps that multiply to
nonsense within a few steps. Each trajectory is therefore played once more with a small offset, and
believed as long as its slopes foretell the difference.
"""

from __future__ import annotations

import numpy as np

from gapless.correct.linearise import Path, Slopes, output_step
from gapless.correct.tangent import difference
from gapless.worlds.world import World

MISS = 1.0
"""Slopes may miss the largest change of a joint so far by this share of it."""


def believed(
    world: World, path: Path, slopes: Slopes, head: str, columns: np.ndarray
) -> np.ndarray:
    """(n, T) True up to the step from which on slopes mislead."""
    n, steps = len(path.targets), path.steps
    if head == "state":
        return np.ones((n, steps), bool)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, len(columns)))
    offset = signs * np.array([output_step(world.robot, head, int(j)) for j in columns])
    came = _change(world, path, head, columns, offset)
    told = _foretold(slopes, offset, steps)
    joints = slice(came.shape[-1] // 2 - path.states.q.shape[-1], came.shape[-1] // 2)
    size = np.maximum.accumulate(np.abs(came[..., joints]).max(-1), axis=1)
    miss = np.abs(told - came)[..., joints].max(-1)
    return np.logical_and.accumulate(miss <= MISS * size, axis=1)


def without_doubtful(slopes: Slopes, held: np.ndarray) -> Slopes:
    """Slopes that say nothing where they are not believed."""
    keep = held[..., None, None]
    return Slopes(np.where(keep, slopes.state, 0.0), np.where(keep[..., None], slopes.output, 0.0))


def _change(
    world: World, path: Path, head: str, columns: np.ndarray, offset: np.ndarray
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
