"""Forward kinematics in NumPy, for many states at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import DataError, unknown
from gapless.robots.joints import TrackingPoint
from gapless.robots.rotations import about, conj, mul, normalise, rotate

if TYPE_CHECKING:
    import mujoco

    from gapless.robots.robot import Robot

Poses = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LinkAxis:
    """A joint of a link: its column in q, axis and anchor in the link's frame, angle at zero."""

    column: int
    slides: bool
    axis: np.ndarray
    pos: np.ndarray
    zero: float


@dataclass(frozen=True)
class LinkFrame:
    """A link on the one it hangs on (an index, -1 for none), before its joints move it."""

    name: str
    parent: int
    pos: np.ndarray
    quat: np.ndarray
    axes: tuple[LinkAxis, ...]


class Kinematics:
    """Link poses of a robot; the loop is over links, never over states.

    Args:
        model: the robot's compiled model, in any mount; its figures are copied.
        robot: gives the column order of q and the root link. A base pose, where given, places
            the root link; without one the model's home placement is used.
    """

    def __init__(self, model: mujoco.MjModel, robot: Robot) -> None:
        self.joints = robot.joints.names
        self._bodies = _read_bodies(model, robot)
        self.links = tuple(body.name for body in self._bodies)
        self._index = {name: i for i, name in enumerate(self.links)}
        self._root = self._index[robot.root]

    @property
    def tree(self) -> tuple[LinkFrame, ...]:
        """The links, each after the one it hangs on."""
        return tuple(self._bodies)

    @property
    def parents(self) -> tuple[int, ...]:
        """For each link the index of the one it hangs on; -1 for those that hang on nothing."""
        return tuple(body.parent for body in self._bodies)

    @property
    def moved(self) -> dict[str, str]:
        """Joint -> the link that it moves."""
        return {self.joints[a.column]: body.name for body in self._bodies for a in body.axes}

    @classmethod
    def of(cls, robot: Robot) -> Kinematics:
        """Compile the robot and read its figures."""
        return cls(robot.model(), robot)

    def link_poses(
        self,
        q: np.ndarray,
        base_pos: np.ndarray | None = None,
        base_quat_wxyz: np.ndarray | None = None,
    ) -> Poses:
        """Poses of all links in the world.

        Args:
            q: (N, J) or (J,) joint positions in the robot's order.
            base_pos: (N, 3) or (3,) position of the root link.
            base_quat_wxyz: (N, 4) or (4,) orientation of the root link.

        Returns:
            Positions (N, B, 3) and unit quaternions (N, B, 4), columns as in `links`.
        """
        q = np.atleast_2d(np.asarray(q, dtype=float))
        if q.shape[1] != len(self.joints):
            raise DataError(f"q has {q.shape[1]} columns, the robot has {len(self.joints)} joints")
        pos, quat = np.empty((len(self.links), len(q), 3)), np.empty((len(self.links), len(q), 4))
        for i, body in enumerate(self._bodies):
            parent = None if body.parent < 0 else (pos[body.parent], quat[body.parent])
            pos[i], quat[i] = _pose(body, parent, q)
        if base_pos is not None or base_quat_wxyz is not None:
            self._move(pos, quat, base_pos, base_quat_wxyz)
        return pos.swapaxes(0, 1), quat.swapaxes(0, 1)

    def points(
        self,
        q: np.ndarray,
        base_pos: np.ndarray | None = None,
        base_quat_wxyz: np.ndarray | None = None,
        *,
        points: Sequence[TrackingPoint],
    ) -> np.ndarray:
        """World positions (N, P, 3) of points fixed to links; arguments as in `link_poses`."""
        for point in points:
            if point.body not in self._index:
                raise unknown("link", point.body, self.links)
        columns = [self._index[point.body] for point in points]
        offsets = np.array([point.offset for point in points]).reshape(-1, 3)
        pos, quat = self.link_poses(q, base_pos, base_quat_wxyz)
        found = pos[:, columns]
        for i in np.flatnonzero(offsets.any(axis=1)):
            found[:, i] += rotate(quat[:, columns[i]], offsets[i])
        return found

    def _move(
        self,
        pos: np.ndarray,
        quat: np.ndarray,
        base_pos: np.ndarray | None,
        base_quat: np.ndarray | None,
    ) -> None:
        """Carry all links along, in place, as the root link goes to the given pose."""
        root_pos, root_quat = pos[self._root].copy(), quat[self._root].copy()
        to_pos = root_pos if base_pos is None else np.asarray(base_pos, float)
        to_quat = root_quat if base_quat is None else normalise(base_quat)
        turn = mul(to_quat, conj(root_quat))
        for i in range(len(pos)):  # link by link stays in the cache
            pos[i] = to_pos + rotate(turn, pos[i] - root_pos)
            quat[i] = mul(turn, quat[i])


def _pose(body: LinkFrame, parent: Poses | None, q: np.ndarray) -> Poses:
    """Pose of one body for all states, as MuJoCo composes its joints."""
    pos, quat = body.pos, body.quat
    if parent is not None:
        pos, quat = parent[0] + rotate(parent[1], body.pos), mul(parent[1], body.quat)
    for axis in body.axes:
        travel = q[:, axis.column] - axis.zero
        if axis.slides:
            pos = pos + rotate(quat, axis.axis) * travel[:, None]
            continue
        anchor = pos + rotate(quat, axis.pos)
        quat = mul(quat, about(axis.axis, travel))
        pos = anchor - rotate(quat, axis.pos)
    return pos, quat


def _read_bodies(model: mujoco.MjModel, robot: Robot) -> list[LinkFrame]:
    links = set(robot.links)
    chosen = [i for i in range(1, model.nbody) if model.body(i).name in links]
    index = {body: i for i, body in enumerate(chosen)} | {0: -1}
    return [_read_body(model, i, index, robot) for i in chosen]


def _read_body(model: mujoco.MjModel, i: int, index: dict[int, int], robot: Robot) -> LinkFrame:
    import mujoco

    first = model.body_jntadr[i]
    joints = range(first, first + model.body_jntnum[i])
    pos, quat = model.body_pos[i].copy(), model.body_quat[i].copy()
    if joints and model.jnt_type[first] == mujoco.mjtJoint.mjJNT_FREE:
        joints = joints[1:]
    axes = tuple(
        LinkAxis(
            robot.joints.index(model.joint(j).name),
            bool(model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE),
            model.jnt_axis[j].copy(),
            model.jnt_pos[j].copy(),
            float(model.qpos0[model.jnt_qposadr[j]]),
        )
        for j in joints
    )
    return LinkFrame(model.body(i).name, index[model.body_parentid[i]], pos, quat, axes)
