"""Between our named arrays and MuJoCo's packed state rows."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from gapless.robots import Robot
from gapless.worlds.world import State, Trajectory

FULL_STATE = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)


@dataclass(frozen=True)
class StateLayout:
    """Where a model keeps our joints: columns of the packed state [time, qpos, qvel, ...]."""

    q: np.ndarray
    dq: np.ndarray
    dof: np.ndarray
    base: bool
    nq: int
    size: int

    @classmethod
    def of(cls, model: mujoco.MjModel, robot: Robot) -> StateLayout:
        """Find the robot's joints in a model by name."""
        ids = [model.joint(name).id for name in robot.joints.names]
        dof = model.jnt_dofadr[ids]
        return cls(
            q=1 + model.jnt_qposadr[ids],
            dq=1 + model.nq + dof,
            dof=dof,
            base=bool(model.njnt) and model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE,
            nq=model.nq,
            size=mujoco.mj_stateSize(model, FULL_STATE),
        )

    @property
    def base_twist(self) -> slice:
        """Columns of the velocity of a free base, and of its turning rate in its own frame."""
        return slice(1 + self.nq, 7 + self.nq)

    def home(self, robot: Robot, environments: int) -> State:
        """The default pose at rest; on a floor, standing."""
        joints = robot.joints
        q, dq = (
            np.tile(joints.default, (environments, 1)),
            np.zeros((environments, len(joints.names))),
        )
        if not self.base:
            return State(q, dq)
        return State(
            q,
            dq,
            base_pos=np.tile([0.0, 0.0, robot.standing_height], (environments, 1)),
            base_quat_wxyz=np.tile([1.0, 0.0, 0.0, 0.0], (environments, 1)),
            base_lin_vel_w=np.zeros((environments, 3)),
            base_ang_vel_b=np.zeros((environments, 3)),
        )

    def pack(self, state: State) -> np.ndarray:
        """(n, size) rows with the clock at zero."""
        packed = np.zeros((len(state), self.size))
        packed[:, self.q], packed[:, self.dq] = state.q, state.dq
        if self.base:
            packed[:, 1:4], packed[:, 4:8] = state.base_pos, state.base_quat_wxyz
            v = 1 + self.nq
            packed[:, v : v + 3] = state.base_lin_vel_w
            packed[:, v + 3 : v + 6] = state.base_ang_vel_b
        return packed

    def unpack(self, packed: np.ndarray, valid: np.ndarray | None = None) -> State:
        """Named arrays of rows; with `valid`, a Trajectory."""
        v = 1 + self.nq
        base = {}
        if self.base:
            base = {
                "base_pos": packed[..., 1:4],
                "base_quat_wxyz": packed[..., 4:8],
                "base_lin_vel_w": packed[..., v : v + 3],
                "base_ang_vel_b": packed[..., v + 3 : v + 6],
            }
        kind = State if valid is None else Trajectory
        extra = {} if valid is None else {"valid": valid}
        return kind(q=packed[..., self.q], dq=packed[..., self.dq], **base, **extra)
