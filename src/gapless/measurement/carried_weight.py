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
USUAL, NONE = (0.4, 2.5), 0.2
"""Who usually carries a smaller share of the robot's weight than the first hangs; more than the
second is another gain, or the work of quick motions. Less than this share of the usual is none."""
BEFORE = 1.0
"""Seconds of a fall, before the legs are bare of weight."""
NUDGE, GRAVITY = 1e-4, 9.81
RANK, MISSED = 1e-3, 0.1
"""Of a leg that is straight, which cannot let the base sink; m/s that it may miss the 1 m/s by."""
STRAIGHT = 0.2
"""Of the most torque that its weight ever needs, below which the legs are too straight to tell."""


def carried_weight(
    body: StandingBody,
    q: np.ndarray,
    torque: np.ndarray,
    up: np.ndarray,
    standing: np.ndarray,
    rate: float,
) -> np.ndarray:
    """(T,) share of the robot's weight that its motors hold, averaged over a second.

    NaN while the legs are so straight that bones hold it, of which motors tell nothing.

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
    bends, size = np.nan_to_num(bends), np.linalg.norm(bends, axis=1)
    sinks = np.isfinite(falls) & (size > 1e-9)
    per_unit = np.where(sinks, 1.0 / np.maximum(size, 1e-9), 0.0)
    steady = uniform_filter1d(np.nan_to_num(torque), stride, axis=0, mode="nearest")[looks]
    held = -(steady * bends).sum(axis=1) * per_unit
    needed = body.mass.sum() * GRAVITY * np.where(sinks, falls, 0.0) * per_unit
    over = max(round(AVERAGED / EVERY), 1)
    held, needed = (uniform_filter1d(x, over, mode="nearest") for x in (held, needed))
    enough = needed > np.maximum(STRAIGHT * needed.max(), 1e-9)
    share = np.divide(held, needed, out=np.full(len(looks), np.nan), where=enough)
    return np.interp(np.arange(len(q)), looks, share)


def sinking_joints(
    body: StandingBody, q: np.ndarray, up: np.ndarray, standing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(T, J) joint velocities that let the base sink at 1 m/s, (T,) how fast the mass then falls.

    Feet that stand stay where they are, and what has a sole does not turn. NaN where legs are too
    straight for that.
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
    moves, asked = np.concatenate(rows, axis=1), np.concatenate(wanted, axis=1)
    bends = np.einsum("tjr,tr->tj", np.linalg.pinv(moves, RANK), asked)
    missed = np.linalg.norm(np.einsum("trj,tj->tr", moves, bends) - asked, axis=1)
    bends[missed > MISSED] = np.nan
    shift = (ahead.mass_centre - behind.mass_centre).reshape(count, joints, 3) / (2 * NUDGE)
    return bends, 1.0 - np.einsum("tj,tjk,tk->t", bends, shift, up)


def _twist(ahead: SeenFeet, behind: SeenFeet, f: int) -> np.ndarray:
    """(N, 6) velocity and turning rate of a foot between two states, seen from the base."""
    moved = ahead.pos[:, f] - behind.pos[:, f]
    turned = 2 * mul(ahead.quat[:, f], conj(behind.quat[:, f]))[:, 1:]
    return np.concatenate([moved, turned], axis=1) / (2 * NUDGE)


def usually_carried(carried: np.ndarray) -> float | None:
    """What a robot carries while it stands; None where it hangs, or nobody knows."""
    known, (least, most) = carried[np.isfinite(carried)], USUAL
    if 2 * len(known) < len(carried):
        return None
    usual = float(np.quantile(known, 0.95))
    return min(usual, 1.0) if least < usual < most else None


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
