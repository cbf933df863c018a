"""How much of its weight a robot's legs carry, by what its motors give: one that lies carries none.

Let the base sink a little while the feet that stand stay where they are: what the motors do against
it is what the weight does for it, however the feet share it (virtual work). Joints and commands are
enough for that, and no sole that is level on a robot that lies can hide it.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter1d

from gapless.measurement.base_estimate import FALLS
from gapless.measurement.stance import SeenFeet
from gapless.measurement.standing_body import StandingBody
from gapless.robots.rotations import conj, mul

EVERY, AVERAGED = 0.1, 1.0
"""Seconds from one look to the next, and over which the weight is averaged: friction holds a part
of it on the way down, and the motors hold more on the way up."""
USUAL, NONE = 0.4, 0.2
"""Who usually carries less than this share of the robot's weight hangs, or its gains are unknown;
less than this share of the usual is none."""
BEFORE = 1.0
"""Seconds of a fall, before the legs are bare of weight."""
NUDGE, GRAVITY = 1e-4, 9.81
RANK = 1e-3
"""Of a leg that is straight, which cannot let the base sink."""


def carried_weight(
    body: StandingBody,
    q: np.ndarray,
    torque: np.ndarray,
    up: np.ndarray,
    standing: np.ndarray,
    rate: float,
) -> np.ndarray:
    """(T,) share of the robot's weight that its motors hold, averaged over a second.

    Args:
        body: the robot.
        q: (T, J) joint positions.
        torque: (T, J) of the motors, N·m.
        up: (T, 3) what is up, seen from the base.
        standing: (T, F) which feet stand.
        rate: samples a second.
    """
    stride = max(round(EVERY * rate), 1)
    looks = np.arange(0, len(q), stride)
    bends, falls = sinking_joints(body, q[looks], up[looks], standing[looks])
    # A unit of joint motion: a leg that is nearly straight would outweigh all else.
    size = np.linalg.norm(bends, axis=1, keepdims=True)
    unit = bends / np.maximum(size, 1e-9)
    steady = uniform_filter1d(np.nan_to_num(torque), stride, axis=0, mode="nearest")[looks]
    held = -(steady * unit).sum(axis=1)
    needed = body.mass.sum() * GRAVITY * falls / np.maximum(size[:, 0], 1e-9)
    over = max(round(AVERAGED / EVERY), 1)
    held, needed = (uniform_filter1d(x, over, mode="nearest") for x in (held, needed))
    return np.interp(np.arange(len(q)), looks, held / np.maximum(needed, 1e-9))


def sinking_joints(
    body: StandingBody, q: np.ndarray, up: np.ndarray, standing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(T, J) joint velocities that let the base sink at 1 m/s, (T,) how fast the mass then falls.

    Feet that stand stay where they are, and what has a sole does not turn.
    """
    count, joints = q.shape
    nudge = NUDGE * np.eye(joints)
    ahead, behind = (
        body.seen(body.poses((q[:, None] + sign * nudge).reshape(-1, joints))) for sign in (1, -1)
    )
    rows, wanted = [], []
    for f in range(len(body.feet)):
        counts = standing[:, f].astype(float)[:, None]
        moves = _twist(ahead, behind, f).reshape(count, joints, 6)
        moves[..., 3:] *= float(body.feet[f].up is not None)
        rows.append(counts[..., None] * moves.swapaxes(1, 2))
        wanted.append(counts * np.concatenate([up, np.zeros_like(up)], axis=1))
    against = np.linalg.pinv(np.concatenate(rows, axis=1), RANK)
    bends = np.einsum("tjr,tr->tj", against, np.concatenate(wanted, axis=1))
    shift = (ahead.mass_centre - behind.mass_centre).reshape(count, joints, 3) / (2 * NUDGE)
    return bends, 1.0 - np.einsum("tj,tjk,tk->t", bends, shift, up)


def _twist(ahead: SeenFeet, behind: SeenFeet, f: int) -> np.ndarray:
    """(N, 6) velocity and turning rate of a foot between two states, seen from the base."""
    moved = ahead.pos[:, f] - behind.pos[:, f]
    turned = 2 * mul(ahead.quat[:, f], conj(behind.quat[:, f]))[:, 1:]
    return np.concatenate([moved, turned], axis=1) / (2 * NUDGE)


def usually_carried(carried: np.ndarray) -> float | None:
    """What a robot carries while it stands; None where it hangs, or nobody knows."""
    usual = min(float(np.quantile(carried, 0.95)), 1.0)
    return usual if usual > USUAL else None


def without_weight(carried: np.ndarray, rate: float) -> np.ndarray:
    """(T,) True from when a robot began to fall until it carries its weight again."""
    usual, found = usually_carried(carried), np.zeros(len(carried), bool)
    if usual is None:
        return found
    padded = np.r_[False, carried < NONE * usual, False]
    for begins, ends in np.flatnonzero(padded[1:] != padded[:-1]).reshape(-1, 2):
        if ends - begins > FALLS * rate:
            margin = round(AVERAGED / 2 * rate)
            found[max(begins - round(BEFORE * rate), 0) : ends + margin] = True
    return found
