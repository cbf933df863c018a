"""One physics step of a clamped robot as MuJoCo takes it, with its exact derivative.

The acceleration solves an equation, so its derivative follows from that equation at the solution:
nothing has to be differentiated through a factorisation or a solver's iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gapless.identification.differentiable.dynamics import (
    Array,
    frames,
    inverse_dynamics,
    mass_matrix,
)
from gapless.identification.differentiable.skeleton import Skeleton
from gapless.identification.differentiable.stops import Stops

NEWTON_STEPS = 30
"""Solves for dry friction and limits at most; two or three are usual."""

HALVINGS = 10
"""Of a Newton step that goes too far, to find where it should end."""

TOLERANCE = 1e-9
"""Torque (N·m) that the solution may lack."""


class Physics(NamedTuple):
    """What can be differentiated: (N,) masses, (3, N) centres, and (J, 1) figures of the joints."""

    mass: Array
    com: Array
    kp: Array
    kd: Array
    armature: Array
    damping: Array
    frictionloss: Array


class JointState(NamedTuple):
    """What an acceleration depends on: (J, n) positions, velocities and targets."""

    q: Array
    dq: Array
    target: Array


@dataclass(frozen=True, eq=False)
class Plant:
    """What is constant: skeleton, friction and limits, (J, 1) effort limits, the physics step."""

    skeleton: Skeleton
    stops: Stops
    effort: np.ndarray
    timestep: float

    def step(
        self, physics: Physics, q: Array, dq: Array, target: Array, last: Array
    ) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration after a physics step; `last` starts the solver."""
        ddq = acceleration(self, physics, JointState(q, dq, target), last)
        dq = dq + self.timestep * ddq
        return q + self.timestep * dq, dq, ddq

    def motors(self, physics: Physics, now: JointState) -> tuple[Array, Array]:
        """PD torque less viscous friction, and how it falls with speed: not where a limit binds."""
        wanted = physics.kp * (now.target - now.q) - physics.kd * now.dq
        torque = jnp.clip(wanted, -self.effort, self.effort) - physics.damping * now.dq
        free = jnp.abs(wanted) < self.effort
        return torque, jnp.where(free, physics.kd, 0.0) + physics.damping

    def missing(
        self, physics: Physics, now: JointState, ddq: Array, slip: Array, implicit: float
    ) -> Array:
        """(J, n) torque by which an acceleration fails its equation: zero at the solution.

        Args:
            physics: of the robot.
            now: its state.
            ddq: the acceleration.
            slip: the one that decides friction and limits.
            implicit: the time after which damping acts, s.
        """
        at = frames(self.skeleton, physics.com, now.q)
        needed = inverse_dynamics(self.skeleton, physics.mass, at, now.dq, ddq)
        torque, drag = self.motors(physics, now)
        held = self.stops.torque(physics.frictionloss, now.q, now.dq, slip)
        return needed + (physics.armature + implicit * drag) * ddq - torque - held


def _acceleration(plant: Plant, physics: Physics, now: JointState, last: Array) -> Array:
    return _solve(plant, physics, now, last).ddq


class _Solved(NamedTuple):
    """The acceleration, the one that decides friction, the factor of the implicit inertia."""

    ddq: Array
    slip: Array
    factor: Array


def _solve(plant: Plant, physics: Physics, now: JointState, last: Array) -> _Solved:
    at = frames(plant.skeleton, physics.com, now.q)
    bias = inverse_dynamics(plant.skeleton, physics.mass, at, now.dq, jnp.zeros_like(now.dq))
    inertia = mass_matrix(plant.skeleton, physics.mass, at) + _diagonal(physics.armature)
    torque, drag = plant.motors(physics, now)
    slip = jax.lax.cond(
        jnp.any(physics.frictionloss > 0) | jnp.any(plant.stops.touched(now.q)),
        lambda: _slip(plant, physics, now, inertia, torque - bias, last),
        lambda: jnp.zeros_like(now.dq),
    )
    factor = _factor(inertia + _diagonal(plant.timestep * drag))
    held = plant.stops.torque(physics.frictionloss, now.q, now.dq, slip)
    return _Solved(_divide(torque - bias + held, factor), slip, factor)


def _slip(
    plant: Plant, physics: Physics, now: JointState, inertia: Array, force: Array, last: Array
) -> Array:
    """The acceleration under friction and limits: Newton's method on a convex, piecewise law."""

    def held(ddq: Array) -> Array:
        return plant.stops.torque(physics.frictionloss, now.q, now.dq, ddq)

    def missing(ddq: Array) -> Array:
        return jnp.einsum("nij,jn->in", inertia, ddq) - force - held(ddq)

    def improve(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        ddq, lack, count = state
        soft = plant.stops.yielding(physics.frictionloss, now.q, now.dq, ddq)
        way = -_divide(lack, _factor(inertia + _diagonal(soft)))
        ddq = ddq + _stride(missing, ddq, way) * way
        return ddq, missing(ddq), count + 1

    def unsolved(state: tuple[Array, Array, Array]) -> Array:
        return jnp.any(jnp.abs(state[1]) > TOLERANCE) & (state[2] < NEWTON_STEPS)

    return jax.lax.while_loop(unsolved, improve, (last, missing(last), jnp.array(0)))[0]


def _stride(missing: Callable[[Array], Array], ddq: Array, way: Array) -> Array:
    """(n,) how far to go: all the way, or to where the lack no longer points along it."""

    def slope(stride: Array) -> Array:
        return (way * missing(ddq + stride * way)).sum(0)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        near, far = ends
        middle = (near + far) / 2
        beyond = slope(middle) > 0
        return jnp.where(beyond, near, middle), jnp.where(beyond, middle, far)

    none, full = jnp.zeros(way.shape[1]), jnp.ones(way.shape[1])
    too_far = slope(full) > 1e-6 * jnp.abs(slope(none))
    near, far = jax.lax.cond(
        jnp.any(too_far),
        lambda: jax.lax.fori_loop(0, HALVINGS, halve, (none, full)),
        lambda: (none, full),
    )
    return jnp.where(too_far, (near + far) / 2, full)


def _forward(
    plant: Plant, physics: Physics, now: JointState, last: Array
) -> tuple[Array, tuple[Physics, JointState, _Solved]]:
    solved = _solve(plant, physics, now, last)
    return solved.ddq, (physics, now, solved)


def _backward(
    plant: Plant, saved: tuple[Physics, JointState, _Solved], pull: Array
) -> tuple[Physics, JointState, Array]:
    """How the equations of `ddq`, and of `slip` where something yields, move with their inputs."""
    physics, now, (ddq, slip, factor) = saved
    soft = plant.stops.yielding(physics.frictionloss, now.q, now.dq, slip)
    direct = -_divide(pull, factor)

    def pulled(by: Array, of: Array, implicit: float) -> tuple[Physics, JointState]:
        equation = lambda p, n: plant.missing(p, n, of, slip, implicit)  # noqa: E731
        return jax.vjp(equation, physics, now)[1](by)

    def through_slip() -> tuple[Physics, JointState]:
        drag = plant.motors(physics, now)[1]
        inertia = factor @ jnp.swapaxes(factor, 1, 2) - _diagonal(plant.timestep * drag)
        return pulled(-_divide(soft * direct, _factor(inertia + _diagonal(soft))), slip, 0.0)

    first = pulled(direct, ddq, plant.timestep)
    nothing = lambda: jax.tree.map(jnp.zeros_like, first)  # noqa: E731
    second = jax.lax.cond(jnp.any(soft > 0), through_slip, nothing)
    return (*jax.tree.map(jnp.add, first, second), jnp.zeros_like(pull))


acceleration = jax.custom_vjp(_acceleration, nondiff_argnums=(0,))
"""(J, n) acceleration of the implicitfast integrator: damping acts at the step's end."""
acceleration.defvjp(_forward, _backward)


def _diagonal(values: Array) -> Array:
    """(n or 1, J, J) matrices of (J, n or 1) values."""
    return values.T[:, :, None] * np.eye(len(values))


def _factor(matrix: Array) -> Array:
    return jax.lax.linalg.cholesky(matrix, symmetrize_input=False)


def _divide(vector: Array, factor: Array) -> Array:
    """Solve for (J, n) vectors with (n, J, J) Cholesky factors."""
    return jax.scipy.linalg.cho_solve((factor, True), vector.T[..., None])[..., 0].T
