"""Pieces of an exciting motion: bursts of sines, at rest at both ends, inside the limits."""

from __future__ import annotations

import numpy as np

from gapless.motions.collisions import overlaps
from gapless.robots import Robot
from gapless.worlds.mujoco_world import MujocoWorld

LIMIT_SHARE = 0.9
"""Share of each position, speed and torque limit that a motion may use."""

FITTING_ROUNDS = 8
"""Rollouts within which motions are scaled into the limits."""

GENES, BURSTS = 6, 2
"""Numbers that make a burst, and bursts that make a joint's wave."""

LOWEST, SHORTEST, SWELL = 0.3, 0.4, 0.25
"""Lowest frequency of a burst, Hz, its least share of the piece, and the share it swells in."""

LEAN = 1.5
"""How far the middle of a burst may lie off the default pose, in amplitudes."""

WIDEST = 2.0
"""No joint is asked to move further from its default than this, rad."""


def random_genes(joints: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """(n, GENES, BURSTS, J) numbers from 0 to 1, each set of genes a burst; see `waves`."""
    return rng.random((count, GENES, BURSTS, joints))


def waves(genes: np.ndarray, time: np.ndarray, top: float) -> np.ndarray:
    """(n, T, J) sums of bursts: sines that swell and die away, at rest before and after.

    Args:
        genes: (n, GENES, BURSTS, J) size, frequency, phase, lean to a side and two ends of each
            burst, 0 to 1.
        time: (T,) seconds of a piece.
        top: highest frequency, Hz.
    """
    size, pitch, phase, lean, one, other = np.moveaxis(genes[:, None], 2, 0)
    share = (time / (time[-1] + time[1]))[:, None, None]
    length = np.maximum(np.abs(one - other), SHORTEST)
    middle = np.clip((one + other) / 2, length / 2, 1 - length / 2)
    inside = (length / 2 - np.abs(share - middle)) / (SWELL * length)
    swell = np.sin(np.pi / 2 * np.clip(inside, 0, 1)) ** 2
    frequency = LOWEST + (top - LOWEST) * pitch
    tone = np.sin(2 * np.pi * (frequency * time[:, None, None] + phase))
    # Limits are mostly of speed, so a burst's size is its speed.
    return (3 * size / frequency * swell * (tone + LEAN * (2 * lean - 1))).sum(axis=2)


def descendants(parents: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Parents (m, GENES, BURSTS, J) with some joints changed, or taken from another parent.

    The rest stays: joints push on each other, so a wave is judged in the company it keeps.
    """
    joints = parents.shape[3]
    rows = np.tile(rng.integers(len(parents), size=(count, 1)), joints)
    swapped = rng.random(rows.shape) < 0.2
    genes = pick(parents, np.where(swapped, rng.integers(len(parents), size=rows.shape), rows))
    spread = rng.choice([0.0, 0.02, 0.05, 0.15], size=(count, 1, 1, joints))
    return np.clip(genes + spread * rng.normal(size=genes.shape), 0, 1)


def pick(genes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Genes that take joint j from row rows[:, j]."""
    return np.moveaxis(genes[rows, ..., np.arange(genes.shape[-1])], 1, -1)


def clear_range(robot: Robot, rng: np.random.Generator, poses: int = 300) -> np.ndarray:
    """(2, J) furthest way down and up from the default in which no links met in random poses."""
    joints = robot.joints
    way = np.array([joints.default - joints.lower, joints.upper - joints.default])
    way = LIMIT_SHARE * np.clip(way, 1e-3, WIDEST)
    for share in np.arange(1.0, 0.1, -0.1):
        # Mostly near the corners, where limbs meet first.
        turn = rng.choice([-1, 1], (poses, len(joints))) * rng.uniform(0.5, 1, (poses, len(joints)))
        if not overlaps(robot, joints.default + share * turn * np.where(turn > 0, way[1], way[0])):
            return share * way
    return 0.1 * way


def fit(
    world: MujocoWorld, offsets: np.ndarray, reach: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scale joints until no limit is broken.

    Args:
        world: the nominal robot.
        offsets: (n, T, J) targets less the default pose, rad.
        reach: (2, J) allowed way down and up.

    Returns:
        (n, J) factors, at most one, and whether each joint is then within its limits.
    """
    factor = 1 / np.maximum(_way_used(offsets, reach), 1.0)
    use, open_rows = np.full_like(factor, np.inf), np.arange(len(offsets))
    for _ in range(FITTING_ROUNDS):
        asked = motor_use(world, offsets[open_rows] * factor[open_rows, None]) / LIMIT_SHARE
        use[open_rows] = asked
        # A hair more than needed: joints push on each other, and repeats are dear.
        factor[open_rows] *= np.where(asked > 1, 0.98 / np.maximum(asked, 1.0), 1.0)
        open_rows = open_rows[(asked > 1).any(axis=1)]
        if not len(open_rows):
            break
    return factor, use <= 1


def _way_used(offsets: np.ndarray, reach: np.ndarray) -> np.ndarray:
    return np.maximum(-offsets.min(axis=1) / reach[0], offsets.max(axis=1) / reach[1])


def motor_use(world: MujocoWorld, offsets: np.ndarray) -> np.ndarray:
    """(n, J) largest share of the speed and torque limits that a motion needs; inf: it diverges."""
    joints, targets = world.robot.joints, world.robot.joints.default + offsets
    played = world.rollout(world.home(len(targets)), targets)
    q, dq = played.q[:, :-1], played.dq[:, :-1]
    speed = np.abs(dq).max(axis=1) / joints.velocity
    # A motor is asked for most just after a target moves, between two samples.
    asked = np.abs(joints.kp * (targets - q) - joints.kd * dq).max(axis=1)
    torque = asked / np.where(joints.effort > 0, joints.effort, np.inf)
    sound = np.all(played.valid, axis=1, keepdims=True)
    return np.where(sound, np.maximum(speed, torque), np.inf)
