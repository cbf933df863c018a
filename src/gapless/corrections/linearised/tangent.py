"""States as vectors: differences between two states, and states moved by a difference.

The order is [base position, base rotation, joints, base velocity, base turning, joint velocities];
a robot whose base cannot move has only its joints. Rotations are vectors in the frame of the base.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapless.robots import Robot
from gapless.robots.rotations import conj, mul, normalise, rotation_vector
from gapless.worlds.world import State


def positions(robot: Robot) -> int:
    """Size of the part that is positions; velocities have as many."""
    return len(robot.joints.names) + (6 if robot.mount == "free" else 0)


def joint_columns(state: State) -> tuple[slice, slice]:
    """Where the joints' positions and velocities are."""
    joints, base = state.q.shape[-1], 0 if state.base_pos is None else 6
    return slice(base, base + joints), slice(2 * base + joints, 2 * (base + joints))


def difference(state: State, origin: State) -> np.ndarray:
    """(..., 2V) how far a state is from another."""
    joints = [state.q - origin.q, state.dq - origin.dq]
    if state.base_pos is None or origin.base_pos is None:
        return np.concatenate(joints, axis=-1)
    turn = rotation_vector(mul(conj(origin.base_quat_wxyz), state.base_quat_wxyz))  # type: ignore[arg-type]
    parts = [
        state.base_pos - origin.base_pos,
        turn,
        joints[0],
        state.base_lin_vel_w - origin.base_lin_vel_w,  # type: ignore[operator]
        state.base_ang_vel_b - origin.base_ang_vel_b,  # type: ignore[operator]
        joints[1],
    ]
    return np.concatenate(parts, axis=-1)


def moved(state: State, by: np.ndarray) -> State:
    """A state moved by (..., 2V); the quaternion stays of length one."""
    q, dq = joint_columns(state)
    joints = replace(state, q=state.q + by[..., q], dq=state.dq + by[..., dq])
    if state.base_pos is None:
        return joints
    half = q.stop
    turned = mul(state.base_quat_wxyz, quaternion(by[..., 3:6]))  # type: ignore[arg-type]
    return replace(
        joints,
        base_pos=state.base_pos + by[..., :3],
        base_quat_wxyz=normalise(turned),
        base_lin_vel_w=state.base_lin_vel_w + by[..., half : half + 3],
        base_ang_vel_b=state.base_ang_vel_b + by[..., half + 3 : half + 6],
    )


def quaternion(vector: np.ndarray) -> np.ndarray:
    """(..., 4) unit quaternions of axis times angle."""
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    # sin(x/2)/x, without dividing by zero
    scale = 0.5 * np.sinc(angle / (2 * np.pi))
    return np.concatenate([np.cos(angle / 2), vector * scale], axis=-1)
