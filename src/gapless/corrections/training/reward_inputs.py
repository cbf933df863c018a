"""A moment of an episode: what rewards look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapless.corrections.linearised.tangent import moved
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, mul, rotate, rotation_vector
from gapless.worlds.world import State

GLIMPSE = 1e-4
"""Seconds over which the velocity of a link is had from its pose."""


@dataclass(frozen=True)
class RewardConstants:
    """What stays the same in a training.

    Attributes:
        robot: that is simulated.
        columns: of the corrected joints.
        rate: control steps a second.
        unit: (K,) outputs that count as an action of 1: rad or N·m.
    """

    robot: Robot
    columns: np.ndarray
    rate: float
    unit: np.ndarray

    @cached_property
    def bodies(self) -> Bodies | None:
        """The points that are followed; None where the robot names no groups of them."""
        return Bodies(self.robot) if self.robot.point_groups else None


@dataclass(frozen=True)
class RewardInputs:
    """One control step of n environments.

    Attributes:
        state: simulated, after the step.
        real: recorded at the same time.
        before: simulated, before the step.
        weight: (n, J) 1 where a reading may be compared, 0 elsewhere.
        outputs: (3, n, K) what the correction gave now, one step ago, and two.
        lost: (n,) environments that diverged.
        scene: the rest.
    """

    state: State
    real: State
    before: State
    weight: np.ndarray
    outputs: np.ndarray
    lost: np.ndarray
    scene: RewardConstants

    @property
    def q_error(self) -> np.ndarray:
        """(n, J) rad; nothing where a reading may not be compared."""
        return self.weight * (self.state.q - self.real.q)

    @property
    def dq_error(self) -> np.ndarray:
        """(n, J) rad/s."""
        return self.weight * (self.state.dq - self.real.dq)

    @property
    def actions(self) -> np.ndarray:
        """(3, n, K) outputs in units of an action."""
        return self.outputs / self.scene.unit

    @property
    def torque(self) -> np.ndarray:
        """(n, J) of the motors, N·m."""
        return np.nan_to_num(0 * self.state.q if self.state.torque is None else self.state.torque)


class Bodies:
    """Poses and velocities of a robot's tracking points.

    Args:
        robot: that has some.
    """

    def __init__(self, robot: Robot) -> None:
        self._kinematics = Kinematics.of(robot)
        links, points = self._kinematics.links, robot.tracking
        self._columns = [links.index(p.body) for p in points]
        self._offsets = np.array([p.offset for p in points])
        names = [p.name for p in points]
        self.groups = {g: [names.index(p) for p in own] for g, own in robot.point_groups.items()}

    def poses(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """(n, P, 3) positions and (n, P, 4) orientations."""
        pos, quat = self._kinematics.link_poses(state.q, state.base_pos, state.base_quat_wxyz)
        quat = quat[:, self._columns]
        return pos[:, self._columns] + rotate(quat, self._offsets), quat

    def velocities(
        self, state: State, poses: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, P, 3) linear and angular velocities in the world."""
        based = [] if state.base_pos is None else [state.base_lin_vel_w, state.base_ang_vel_b]
        pace = np.concatenate([*based, state.dq], axis=-1)  # type: ignore[list-item]
        pos, quat = self.poses(moved(state, GLIMPSE * np.concatenate([pace, 0 * pace], axis=-1)))
        turn = rotation_vector(mul(quat, conj(poses[1])))
        return (pos - poses[0]) / GLIMPSE, turn / GLIMPSE
