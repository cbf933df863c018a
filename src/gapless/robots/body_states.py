"""Poses and velocities of links and points on them, for many states at once.

Only orientations are composed step by step, all links that hang equally deep together; positions
and velocities are then sums over each link's ancestors, one product with a matrix of zeros and
ones. Numbers are kept component by component, which is several times faster than side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gapless.errors import ModelError, unknown
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics, LinkAxis, LinkFrame

if TYPE_CHECKING:
    from gapless.robots.robot import Robot


class Posture(Protocol):
    """What bodies are computed from; a `State` of a world is one."""

    @property
    def q(self) -> np.ndarray:
        """(n, J) joint positions, rad."""
        ...

    @property
    def dq(self) -> np.ndarray:
        """(n, J) joint velocities, rad/s."""
        ...

    @property
    def base_pos(self) -> np.ndarray | None:
        """(n, 3) position of the root, m; None where it cannot move."""
        ...

    @property
    def base_quat_wxyz(self) -> np.ndarray | None:
        """(n, 4) orientation of the root."""
        ...

    @property
    def base_lin_vel_w(self) -> np.ndarray | None:
        """(n, 3) velocity of the root in the world, m/s."""
        ...

    @property
    def base_ang_vel_b(self) -> np.ndarray | None:
        """(n, 3) angular velocity of the root in its own frame, rad/s."""
        ...


@dataclass(frozen=True)
class BodyStates:
    """Where B bodies are and how they move, in the world.

    Attributes:
        pos: (n, B, 3) m.
        quat_wxyz: (n, B, 4).
        lin_vel: (n, B, 3) m/s.
        ang_vel: (n, B, 3) rad/s.
    """

    pos: np.ndarray
    quat_wxyz: np.ndarray
    lin_vel: np.ndarray
    ang_vel: np.ndarray

    def __len__(self) -> int:
        return len(self.pos)

    def __getitem__(self, rows: object) -> BodyStates:
        """The same for some states."""
        return BodyStates(**{name: array[rows] for name, array in vars(self).items()})

    def of(self, bodies: Sequence[int]) -> BodyStates:
        """The same for some bodies."""
        return BodyStates(**{name: array[:, bodies] for name, array in vars(self).items()})


@dataclass(frozen=True)
class _Nodes:
    """The tree with one joint a node: a link with several joints is several nodes in a row.

    Attributes:
        levels: slices of nodes that hang equally deep, from the root down.
        parents: (K,) node that each hangs on; -1 for none.
        pos: (3, K, 1) where it hangs, in its parent's frame.
        quat: (4, K, 1) how it hangs.
        axis: (3, K, 1) of its joint; zeros where it has none.
        anchor: (3, K, 1) a point on the axis.
        zero: (K, 1) travel at which the joint is at zero.
        column: (K,) of its joint in q; 0 where it has none.
        turns: (K, 1) 1 where the joint turns, else 0.
        slides: (K, 1) 1 where it slides, else 0.
        ancestors: (K, K) 1 where a node is another's ancestor, or itself.
        links: node -> column, of the last node of each link.
    """

    levels: tuple[slice, ...]
    parents: np.ndarray
    pos: np.ndarray
    quat: np.ndarray
    axis: np.ndarray
    anchor: np.ndarray
    zero: np.ndarray
    column: np.ndarray
    turns: np.ndarray
    slides: np.ndarray
    ancestors: np.ndarray
    links: np.ndarray


class BodyKinematics:
    """Bodies of a robot; a body is a link, or a point that is fixed to one.

    Args:
        robot: whose bodies they are.
        bodies: which; the robot's tracking points by default, or all links where it has none.
    """

    def __init__(self, robot: Robot, bodies: Sequence[TrackingPoint] | None = None) -> None:
        kinematics = Kinematics.of(robot)
        links = kinematics.links
        chosen = robot.tracking if bodies is None else tuple(bodies)
        self.bodies = chosen or tuple(TrackingPoint(link, link) for link in links)
        for point in self.bodies:
            if point.body not in links:
                raise unknown("link", point.body, links)
        self._nodes = _nodes(kinematics.tree, robot.mount == "free")
        self._columns = self._nodes.links[[links.index(point.body) for point in self.bodies]]
        self._offsets = np.array([point.offset for point in self.bodies], float).reshape(-1, 3)
        self._free = robot.mount == "free"
        if self._free and links.index(robot.root) != 0:
            raise ModelError(f"{robot.name}: {robot.root!r} is free, but hangs on {links[0]!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bodies, in the order of the columns."""
        return tuple(point.name for point in self.bodies)

    def states(self, posture: Posture) -> BodyStates:
        """Bodies of n postures."""
        pos, quat, vel, spin = (array[:, self._columns] for array in self._links(posture))
        out = np.flatnonzero(self._offsets.any(axis=1))
        if len(out):
            arm = _turned(quat[:, out], self._offsets[out].T[..., None])
            pos[:, out] += arm
            vel[:, out] += _cross(spin[:, out], arm)
        return BodyStates(
            *(np.ascontiguousarray(a.transpose(2, 1, 0)) for a in (pos, quat, vel, spin))
        )

    def _links(self, posture: Posture) -> tuple[np.ndarray, ...]:
        """(components, nodes, n) positions, turns, velocities and spins."""
        tree = self._nodes
        q, dq = (np.asarray(a, float).T[tree.column] for a in (posture.q, posture.dq))
        travel, speed = q - tree.zero, dq
        root = self._root(posture, q.shape[1])
        half = 0.5 * travel * tree.turns
        joint = np.concatenate([np.cos(half)[None], np.sin(half) * tree.axis])
        turn = _composed(tree, _product(tree.quat, joint), root[1])
        above, seen = _above(tree, turn, root[1]), _turned(turn, tree.axis)
        arm, sums = _turned(above, tree.pos), tree.ancestors
        spin = root[3] + sums @ (seen * (speed * tree.turns))
        spun = _above(tree, spin, root[3])
        if tree.slides.any():
            arm += seen * (travel * tree.slides)
        if tree.anchor.any():
            arm += _turned(_product(above, tree.quat), tree.anchor)
        way = _cross(spun, arm) + seen * (speed * tree.slides)
        if tree.anchor.any():  # from a point on the axis back to the link
            back = _turned(turn, tree.anchor)
            arm, way = arm - back, way - _cross(spin, back)
        return root[0] + sums @ arm, turn, root[2] + sums @ way, spin

    def _root(self, posture: Posture, count: int) -> tuple[np.ndarray, ...]:
        """(components, 1, n) what the tree hangs on: the base, or the world itself."""
        if not self._free:
            none = np.zeros((3, 1, count))
            upright = np.concatenate([np.ones((1, 1, count)), none])
            return none, upright, none, none
        parts = (posture.base_pos, posture.base_quat_wxyz, posture.base_lin_vel_w)
        pos, quat, vel = (np.asarray(part, float).T[:, None] for part in parts)
        return pos, quat, vel, _turned(quat, np.asarray(posture.base_ang_vel_b, float).T[:, None])


def _nodes(tree: Sequence[LinkFrame], free: bool) -> _Nodes:
    """One node a joint, sorted by depth; the first link of a free robot is where its base is."""
    if free:
        tree = [replace(tree[0], pos=np.zeros(3), quat=UPRIGHT), *tree[1:]]
    rows: list[tuple[int, int, int, LinkAxis | None]] = []  # depth, parent row, link, joint
    last: dict[int, int] = {}
    for link, body in enumerate(tree):
        parent = last.get(body.parent, -1)
        for axis in body.axes or (None,):
            depth = 0 if parent < 0 else rows[parent][0] + 1
            rows.append((depth, parent, link, axis))
            parent = len(rows) - 1
        last[link] = parent
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    place = {row: k for k, row in enumerate(order)} | {-1: -1}
    depths = np.array([rows[i][0] for i in order])
    first = [rows[i][1] < 0 or rows[rows[i][1]][2] != rows[i][2] for i in order]
    bodies, axes = [tree[rows[i][2]] for i in order], [rows[i][3] for i in order]
    parents = np.array([place[rows[i][1]] for i in order])
    return _Nodes(
        levels=_slices(depths),
        parents=parents,
        pos=_columns([b.pos if f else np.zeros(3) for b, f in zip(bodies, first, strict=True)]),
        quat=_columns([b.quat if f else UPRIGHT for b, f in zip(bodies, first, strict=True)]),
        axis=_columns([np.zeros(3) if a is None else a.axis for a in axes]),
        anchor=_columns([np.zeros(3) if a is None else a.pos for a in axes]),
        zero=np.array([[0.0 if a is None else a.zero] for a in axes]),
        column=np.array([0 if a is None else a.column for a in axes]),
        turns=np.array([[float(a is not None and not a.slides)] for a in axes]),
        slides=np.array([[float(a is not None and a.slides)] for a in axes]),
        ancestors=_ancestors(parents),
        links=np.array([place[last[link]] for link in range(len(tree))]),
    )


UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


def _columns(rows: list[np.ndarray]) -> np.ndarray:
    return np.array(rows, float).T[..., None]


def _slices(depths: np.ndarray) -> tuple[slice, ...]:
    edges = np.flatnonzero(np.diff(depths, prepend=-1, append=depths[-1] + 1))
    return tuple(slice(a, b) for a, b in pairwise(edges))


def _ancestors(parents: np.ndarray) -> np.ndarray:
    found = np.eye(len(parents))
    for node, parent in enumerate(parents):
        if parent >= 0:
            found[node] += found[parent]
    return found


def _composed(tree: _Nodes, local: np.ndarray, root: np.ndarray) -> np.ndarray:
    """(4, K, n) orientations of nodes, from how each is turned on the one above it."""
    turn = np.empty_like(local)
    for level in tree.levels:
        parents = tree.parents[level]
        above = turn[:, parents] if parents[0] >= 0 else root
        turn[:, level] = _product(above, local[:, level])
    return turn


def _above(tree: _Nodes, values: np.ndarray, root: np.ndarray) -> np.ndarray:
    """(components, K, n) of what each node hangs on."""
    found = values[:, tree.parents]
    found[:, tree.levels[0]] = root
    return found


def _turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors turned by unit quaternions; components first."""
    w, x, y, z = quat
    a, b, c = vector
    t, u, v = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return np.stack(
        [a + w * t + y * v - z * u, b + w * u + z * t - x * v, c + w * v + x * u - y * t]
    )


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The turn that does `right` first, then `left`; components first."""
    (a, b, c, d), (e, f, g, h) = left, right
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def _cross(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Cross product; components first."""
    (a, b, c), (x, y, z) = left, right
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x])
