"""Dry friction and joint limits in JAX, softened as MuJoCo softens them.

Both act on single joints: a spring and a damper pull the joint's acceleration to one that ends the
motion. Friction gives at most `frictionloss`; a limit only pushes back.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from gapless.identification.differentiable.dynamics import Array
from gapless.robots import Robot

_LEAST, _MOST = mujoco.mjMINIMP, mujoco.mjMAXIMP


@dataclass(frozen=True, eq=False)
class Stops:
    """Constants of MuJoCo's soft constraints, each (J, 1) in the robot's joint order.

    Attributes:
        lower: position limits, rad; -inf where there is none.
        upper: the same above.
        stiffness: of a limit, 1/s².
        damping: of a limit, 1/s.
        impedance: (5, J, 1) of a limit: at contact, deep inside, width, midpoint and power.
        friction: damping of dry friction, 1/s.
        grip: what it yields before it slips, N·m per rad/s².
        inertia: that a joint has for a limit, kg·m².
    """

    lower: np.ndarray
    upper: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    impedance: np.ndarray
    friction: np.ndarray
    grip: np.ndarray
    inertia: np.ndarray

    @classmethod
    def of(cls, robot: Robot, model: mujoco.MjModel) -> Stops:
        """Read a compiled model of a clamped robot."""
        joints = [model.joint(name).id for name in robot.joints.names]
        dofs = model.jnt_dofadr[joints]
        limited = model.jnt_limited[joints].astype(bool)[:, None]
        lower, upper = np.where(limited, model.jnt_range[joints], (-np.inf, np.inf)).T
        margin, impedance = model.jnt_margin[joints], model.jnt_solimp[joints].T.copy()
        impedance[3] = np.clip(impedance[3], _LEAST, _MOST)
        stiffness, damping = _spring(model, model.jnt_solref[joints], impedance[1])
        _, friction = _spring(model, model.dof_solref[dofs], model.dof_solimp[dofs, 1])
        ease = np.clip(model.dof_solimp[dofs, 0], _LEAST, _MOST)
        inertia = 1 / np.maximum(model.dof_invweight0[dofs], mujoco.mjMINVAL)
        return cls(
            lower=(lower + margin)[:, None],
            upper=(upper - margin)[:, None],
            stiffness=stiffness[:, None],
            damping=damping[:, None],
            impedance=impedance[..., None],
            friction=friction[:, None],
            grip=(ease / (1 - ease) * inertia)[:, None],
            inertia=inertia[:, None],
        )

    def touched(self, q: Array) -> Array:
        """True where a joint is beyond a limit."""
        return (q < self.lower) | (q > self.upper)

    def torque(self, frictionloss: Array, q: Array, dq: Array, ddq: Array) -> Array:
        """(J, n) what friction and limits do to joints that would accelerate like this, N·m."""
        wanted = -self.grip * (ddq + self.friction * dq)
        held = jnp.abs(wanted) < frictionloss
        friction = jnp.where(held, wanted, jnp.sign(wanted) * frictionloss)
        below = self._push(q - self.lower, dq, ddq)
        return friction + below - self._push(self.upper - q, -dq, -ddq)

    def yielding(self, frictionloss: Array, q: Array, dq: Array, ddq: Array) -> Array:
        """(J, n) how much less that torque is per unit of acceleration, kg·m²."""
        torque = lambda given: self.torque(frictionloss, q, dq, given)  # noqa: E731
        return -jax.jvp(torque, (ddq,), (jnp.ones_like(ddq),))[1]

    def _push(self, gap: Array, dq: Array, ddq: Array) -> Array:
        """Of one limit, on a joint that is `gap` away from it; positive away from the limit."""
        gap = jnp.where(gap < 0, gap, 0.0)
        ease = self._ease(gap)
        inertia = ease / (1 - ease) * self.inertia
        wanted = -inertia * (ddq + self.damping * dq + self.stiffness * ease * gap)
        return jnp.where((gap < 0) & (wanted > 0), wanted, 0.0)

    def _ease(self, gap: Array) -> Array:
        """MuJoCo's impedance: it grows from the first contact to the full width."""
        first, deep, width, middle, power = self.impedance
        depth = jnp.minimum(-gap / np.maximum(width, mujoco.mjMINVAL), 1.0)
        rising = depth**power / middle ** (power - 1)
        falling = 1 - (1 - depth) ** power / (1 - middle) ** (power - 1)
        shape = jnp.where(depth <= middle, rising, falling)
        return jnp.clip(first + shape * (deep - first), _LEAST, _MOST)


def _spring(
    model: mujoco.MjModel, reference: np.ndarray, deep: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of constraints from MuJoCo's solref and full impedance."""
    first, second = reference.T
    deep = np.clip(deep, _LEAST, _MOST)
    time = np.where(first > 0, np.maximum(first, 2 * model.opt.timestep), 1.0)
    ratio = np.where(first > 0, second, 1.0)
    stiffness = np.where(first > 0, 1 / (deep * time * ratio) ** 2, -first / deep**2)
    return stiffness, np.where(first > 0, 2 / (deep * time), -second / deep)
