"""Rigid-body dynamics of a clamped robot in JAX: quick to compile, cheap to differentiate.

MJX computes the same quantities, but its scans of the tree take about a minute to compile in
reverse mode. Only poses need a walk along the tree; it is done by doubling (a link takes over the
pose of its parent, then of its grandparent, then of four above ...). All else is linear and
becomes one product with the matrix of ancestors. Arrays have the windows as their last axis:
(3, N, n) for nodes of the skeleton, (J, n) for joints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gapless.identification.differentiable.skeleton import Skeleton

Array = Any
"""A NumPy array, or a traced one."""


class LinkFrames(NamedTuple):
    """Where the links are, in the world.

    Attributes:
        turn: (3, 3, N, n) their axes.
        centre: (3, N, n) their centres of mass.
        spin: (3, N, n) what a unit of joint speed adds to the angular velocity.
        move: (3, N, n) the same for the velocity of the point at the origin.
    """

    turn: Array
    centre: Array
    spin: Array
    move: Array


def _placed(s: Skeleton, com: Array, q: Array) -> LinkFrames:
    angle = s.of_joint @ (q - s.zero)
    sin, versine = jnp.sin(angle), 1 - jnp.cos(angle)
    turn = s.turns[0] + s.turns[1] * sin + s.turns[2] * versine
    pos = s.shifts[0] + s.shifts[1] * sin + s.shifts[2] * versine + s.shifts[3] * angle
    for parent in s.parents:
        above = turn[:, :, parent]
        pos = pos[:, parent] + _apply(above, pos)
        turn = (above[:, :, None] * turn[None]).sum(1)
    spin = _apply(turn, s.hinge)
    move = _cross(pos + _apply(turn, s.anchor), spin) + _apply(turn, s.slide)
    return LinkFrames(turn, pos + _apply(turn, com[..., None]), spin, move)


def _placed_forward(s: Skeleton, com: Array, q: Array) -> tuple[LinkFrames, LinkFrames]:
    at = _placed(s, com, q)
    return at, at


def _placed_backward(s: Skeleton, at: LinkFrames, pull: LinkFrames) -> tuple[Array, Array]:
    """A joint turns all that hangs on it alike, so no walk back through the tree is needed."""
    turning = _cross(at.turn, pull.turn).sum(1) + _cross(at.centre, pull.centre)
    turning += _cross(at.spin, pull.spin) + _cross(at.move, pull.move)
    moving = pull.centre + _cross(at.spin, pull.move)
    onto = at.spin * (s.above.T @ turning) + at.move * (s.above.T @ moving)
    com = (at.turn * pull.centre[:, None]).sum((0, -1))
    return com, s.of_joint.T @ onto.sum(0)


frames = jax.custom_vjp(_placed, nondiff_argnums=(0,))
"""Frames of robots with (3, N) centres of mass at (J, n) joint positions."""
frames.defvjp(_placed_forward, _placed_backward)


def inverse_dynamics(s: Skeleton, mass: Array, at: LinkFrames, dq: Array, ddq: Array) -> Array:
    """(J, n) torques that give robots this acceleration against gravity and inertia."""
    m, rate, gain = mass[:, None], s.of_joint @ dq, s.of_joint @ ddq
    w, v = s.above @ (at.spin * rate), s.above @ (at.move * rate)
    bent = _cross(v, at.spin) + _cross(w, at.move)
    dw = s.above @ (at.spin * gain + _cross(w, at.spin) * rate)
    dv = s.above @ (at.move * gain + bent * rate) - s.gravity
    momentum = m * (v + _cross(w, at.centre))
    push = m * (dv + _cross(dw, at.centre))
    swirl = _own_momentum(s, at, w) + _cross(at.centre, momentum)
    twist = _own_momentum(s, at, dw) + _cross(at.centre, push)
    twist = s.above.T @ (twist + _cross(w, swirl) + _cross(v, momentum))
    force = s.above.T @ (push + _cross(w, momentum))
    return s.of_joint.T @ (at.spin * twist + at.move * force).sum(0)


def mass_matrix(s: Skeleton, mass: Array, at: LinkFrames) -> Array:
    """(n, J, J) inertia that the joints feel, without their armature."""
    m, c = mass[:, None], at.centre
    rotary = (at.turn[:, :, None] * s.inertia[None]).sum(1)
    rotary = (rotary[:, None] * at.turn[None]).sum(2)
    square = (c * c).sum(0) * np.eye(3)[..., None, None] - c[:, None] * c[None]
    rotary, first, m = s.above.T @ (rotary + m * square), s.above.T @ (m * c), s.above.T @ m
    twist = _apply(rotary, at.spin) + _cross(first, at.move)
    force = m * at.move + _cross(at.spin, first)
    half = jnp.einsum("cin,cjn->nij", at.spin, twist) + jnp.einsum("cin,cjn->nij", at.move, force)
    half = s.of_joint.T @ (half * s.above.T) @ s.of_joint
    return half + jnp.swapaxes(half, 1, 2) * (1 - np.eye(half.shape[-1]))


def _own_momentum(s: Skeleton, at: LinkFrames, w: Array) -> Array:
    """Angular momentum of each link about its own centre at angular velocity w."""
    return _apply(at.turn, _apply(s.inertia, (at.turn * w[:, None]).sum(0)))


def _apply(matrix: Array, vector: Array) -> Array:
    return (matrix * vector[None]).sum(1)


def _cross(a: Array, b: Array) -> Array:
    return jnp.cross(a, b, axis=0)
