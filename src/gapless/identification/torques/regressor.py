"""Joint torques per figure of a link: inverse dynamics is linear in mass, centre and moments."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from gapless.robots import Robot
from gapless.robots.inertia import Inertia
from gapless.worlds.packing import StateLayout

LINK_FRAME = mujoco.mjtObj.mjOBJ_XBODY
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Entries of a tensor, in the order of `Inertia.moments`."""


def regressor(
    robot: Robot, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray, links: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Torque (T, J) by the robot's own figures, and (T, L, J, 10) torque per figure of each link.

    The ten figures are mass, mass times centre, and the moments about the link's origin.
    """
    model = robot.model()
    data, layout = mujoco.MjData(model), StateLayout.of(model, robot)
    bodies, shape = [model.body(link).id for link in links], (len(q), len(links))
    torque, turn = np.empty((len(q), model.nv)), np.empty((*shape, 1, 3, 3))
    velocity, acceleration = np.empty((*shape, 6)), np.empty((*shape, 6))
    jacobian = np.empty((*shape, 2, 3, model.nv))
    for t in range(len(q)):
        data.qpos[layout.q - 1] = q[t]
        data.qvel[layout.dof], data.qacc[layout.dof] = dq[t], ddq[t]
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
            stage(model, data)
        mujoco.mj_rne(model, data, 1, torque[t])
        mujoco.mj_rnePostConstraint(model, data)
        for i, body in enumerate(bodies):
            mujoco.mj_objectVelocity(model, data, LINK_FRAME, body, velocity[t, i], 1)
            mujoco.mj_objectAcceleration(model, data, LINK_FRAME, body, acceleration[t, i], 1)
            mujoco.mj_jacBody(model, data, jacobian[t, i, 1], jacobian[t, i, 0], body)
            turn[t, i, 0] = data.xmat[body].reshape(3, 3).T
    local = (turn @ jacobian).reshape(*shape, 6, model.nv)[..., layout.dof]
    return torque[:, layout.dof], local.swapaxes(-1, -2) @ _wrench(velocity, acceleration)


def _wrench(velocity: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """(..., 6, 10) moment and force on a link per figure, at its origin and in its axes.

    The force is m·a + dω×h + ω×(ω×h), the moment I·dω + ω×(I·ω) + h×a, with h = mass times centre.
    The acceleration is less gravity, as MuJoCo gives it.
    """
    turning, a = _cross(velocity[..., :3]), acceleration[..., 3:]
    rows = np.zeros((*a.shape[:-1], 6, 10))
    rows[..., :3, 1:4] = -_cross(a)
    rows[..., :3, 4:] = _times(acceleration[..., :3]) + turning @ _times(velocity[..., :3])
    rows[..., 3:, 0] = a
    rows[..., 3:, 1:4] = _cross(acceleration[..., :3]) + turning @ turning
    return rows


def _cross(vector: np.ndarray) -> np.ndarray:
    """(..., 3, 3) matrices that multiply by the vector from the left."""
    return np.cross(vector[..., None, :], np.eye(3)).swapaxes(-1, -2)


def _times(vector: np.ndarray) -> np.ndarray:
    """(..., 3, 6) matrices that multiply six moments, as a tensor, by the vector."""
    rows = np.zeros((*vector.shape, 6))
    for column, (i, j) in enumerate(PAIRS):
        rows[..., i, column], rows[..., j, column] = vector[..., j], vector[..., i]
    return rows


def directions(inertia: Inertia) -> np.ndarray:
    """(10, 10) figures per unit step: mass at the centre, shift of the centre, central moments.

    A unit step is as large as the link's own figure, so that one spread serves all of them; and a
    step in mass or centre takes the moments about the origin along, as on a real link.
    """
    centre = np.array(inertia.com)
    gyration = np.trace(inertia.tensor) / (2 * inertia.mass)
    reach = np.sqrt(gyration + centre @ centre)
    columns = np.zeros((10, 10))
    columns[:, 0] = [1.0, *centre, *steiner(centre, centre)]
    for k, axis in enumerate(np.eye(3)):
        columns[:, 1 + k] = [0.0, *axis, *(2 * steiner(centre, axis))]
    columns[4:, 4:] = np.eye(6)
    return inertia.mass * columns * np.repeat([1.0, reach, gyration], [1, 3, 6])


def steiner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(6,) moments about the origin of a unit mass: of (a·b)·1 - (a bᵀ + b aᵀ)/2."""
    tensor = a @ b * np.eye(3) - (np.outer(a, b) + np.outer(b, a)) / 2
    return np.array([tensor[pair] for pair in PAIRS])
