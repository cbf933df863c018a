"""Feet that stand do not move: the path and the velocity of the base that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.measurement.stance import SeenFeet, Stance
from gapless.measurement.standing_body import UPWARD, StandingBody
from gapless.robots import Robot
from gapless.robots.rotations import about, conj, mul, rotate
from gapless.worlds.world import State

NUDGE = 1e-4
"""Step of the finite differences along joint velocities, s."""
STANDS = 0.01
"""A foot of a single state that is this near to the lowest stands, m."""
POSE_SHARE = 0.002
"""How much a turning rate from elsewhere says beside the feet."""


@dataclass(frozen=True)
class BasePath:
    """Positions (T, 3) and orientations (T, 4) of the base."""

    pos: np.ndarray
    quat: np.ndarray


def path_of(seen: SeenFeet, stance: Stance, level: np.ndarray, turns: bool) -> BasePath:
    """Places and headings at which the standing feet stay where they are; both begin at zero.

    Args:
        seen: the feet.
        stance: which of them stand.
        level: (T, 4) orientations of the base.
        turns: whether those lack the heading, which is then found too.
    """
    up = rotate(conj(level), UPWARD)
    before, after, weight = [], [], []
    for f in range(len(seen.feet)):
        points = seen.touching(f, up)[:-1]
        there = SeenFeet(seen.feet, seen.pos[1:], seen.quat[1:], seen.mass_centre[1:])
        here = SeenFeet(seen.feet, seen.pos[:-1], seen.quat[:-1], seen.mass_centre[:-1])
        before.append(rotate(level[:-1, None], here.seen(f, points)))
        after.append(rotate(level[1:, None], there.seen(f, points)))
        share = stance.still[:-1, f] * stance.still[1:, f]
        weight.append(np.repeat(share[:, None] / points.shape[1], points.shape[1], axis=1))
    a, b, w = np.concatenate(before, 1), np.concatenate(after, 1), np.concatenate(weight, 1)
    w /= w.sum(axis=1, keepdims=True)
    mean_a, mean_b = (np.einsum("tp,tpk->tk", w, x) for x in (a, b))
    turn = _turn(a - mean_a[:, None], b - mean_b[:, None], w) if turns else np.zeros(len(w))
    heading = np.concatenate([[0.0], np.cumsum(turn)])
    faces = about(UPWARD, heading)
    pos = np.zeros((len(level), 3))
    pos[1:] = np.cumsum(rotate(faces[:-1], mean_a) - rotate(faces[1:], mean_b), axis=0)
    return BasePath(pos, mul(faces, level))


def _turn(a: np.ndarray, b: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(T,) turns about the vertical that lay points b onto points a; 0 where they are too near."""
    cross = (weight * (b[..., 0] * a[..., 1] - b[..., 1] * a[..., 0])).sum(axis=1)
    dot = (weight * (b[..., :2] * a[..., :2]).sum(axis=2)).sum(axis=1)
    return np.arctan2(cross, dot + 1e-8)


def still_twist(
    body: StandingBody,
    q: np.ndarray,
    dq: np.ndarray,
    up: np.ndarray,
    weight: np.ndarray,
    known: np.ndarray | None = None,
    share: float = POSE_SHARE,
    rest: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Velocity and turning rate of the base, in its frame, that keep the standing feet still.

    They follow from the same joint velocities that a replay starts with, so no foot starts with a
    jerk; and they are linear in them.

    Args:
        body: the robot.
        q: (T, J) positions.
        dq: (T, J) velocities.
        up: (T, 3) what is up, seen from the base.
        weight: (T, F) how much each foot stands still.
        known: (T, 3) turning rate from elsewhere; zero by default.
        share: how much that counts beside the feet.
        rest: (T,) how much it counts beside them that the base usually moves little.
    """
    seen = body.seen(body.poses(q))
    ahead, behind = (body.seen(body.poses(q + sign * NUDGE * dq)) for sign in (1, -1))
    left = share * np.diag([0.0, 0, 0, 1, 1, 1])
    bends = np.tile(left, (len(q), 1, 1))
    bends[:, :3, :3] += np.multiply.outer(np.broadcast_to(rest, len(q)), np.eye(3))
    says = np.zeros((len(q), 6)) if known is None else known @ left[3:]
    for f in range(len(body.feet)):
        points = seen.touching(f, up)
        at = seen.seen(f, points)
        moves = (ahead.seen(f, points) - behind.seen(f, points)) / (2 * NUDGE)
        slope = np.concatenate([np.broadcast_to(np.eye(3), (*at.shape, 3)), -_cross(at)], axis=-1)
        counts = weight[:, f] / at.shape[1]
        bends += np.einsum("t,tpki,tpkj->tij", counts, slope, slope)
        says -= np.einsum("t,tpki,tpk->ti", counts, slope, moves)
    twist = np.linalg.solve(bends, says[..., None])[..., 0]
    return twist[:, :3], twist[:, 3:]


def feet_that_stand(seen: SeenFeet, up: np.ndarray) -> np.ndarray:
    """(n, F) weights of the feet of single states: those near to the lowest stand."""
    low = seen.lowest(up)
    return (low < low.min(axis=1, keepdims=True) + STANDS).astype(float) + 1e-9


def base_followed(robot: Robot, before: State, after: State, which: np.ndarray) -> State:
    """States whose joints moved a little, with bases moved as standing feet that stay make them.

    Args:
        robot: mounted free.
        before: (n, ...) states with a base.
        after: the same with other joint positions or velocities.
        which: (n,) True where the base follows.
    """
    assert before.base_pos is not None and before.base_quat_wxyz is not None
    body, quat = StandingBody.of(robot), before.base_quat_wxyz
    up = rotate(conj(quat), rotate(robot.floor.quat_wxyz, UPWARD))
    stands = feet_that_stand(body.seen(body.poses(before.q)), up)
    step, turn = still_twist(body, before.q, after.q - before.q, up, stands)
    faster, spin = still_twist(body, before.q, after.dq - before.dq, up, stands)
    size = np.linalg.norm(turn, axis=1)
    axis = turn / np.maximum(size, 1e-12)[:, None]
    half = np.concatenate([np.cos(size / 2)[:, None], np.sin(size / 2)[:, None] * axis], axis=1)
    moved = {
        "base_pos": before.base_pos + rotate(quat, step),
        "base_quat_wxyz": mul(quat, half),
        "base_lin_vel_w": before.base_lin_vel_w + rotate(quat, faster),
        "base_ang_vel_b": before.base_ang_vel_b + spin,
    }
    kept = {k: np.where(which[:, None], v, getattr(before, k)) for k, v in moved.items()}
    return replace(after, **kept)


def _cross(vectors: np.ndarray) -> np.ndarray:
    """(..., 3, 3) matrices that take the cross product with vectors from the left."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    none = np.zeros_like(x)
    rows = [[none, -z, y], [z, none, -x], [-y, x, none]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
