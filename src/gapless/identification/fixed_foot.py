"""Recordings with one foot clamped and encoders only: where the base was, and feet made level.

HALO's data. The clamped foot is where it stands in the default stance, so forward kinematics from
it gives the base and every link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import DataError
from gapless.measurement.alignment import BASE_CHANNELS, Aligned, in_robot_order
from gapless.recordings.recording import Recording
from gapless.robots import Kinematics, Robot
from gapless.robots.rotations import conj, mul, rotate

TOUCHING = 0.02
"""A free foot lower than this above the floor, m, is taken to stand on it."""
LEVEL = 1e-7
"""Feet whose heights differ by less than this, m, are level."""
PASSES = 4
"""Newton passes; two are enough for encoder biases."""
NUDGE = 1e-6
"""Step of the finite differences, rad."""


def base_through_foot(q: np.ndarray, robot: Robot, foot: str) -> tuple[np.ndarray, np.ndarray]:
    """Pose of the root link while a foot is clamped where it stands in the default stance.

    Args:
        q: (T, J) joint positions in the robot's order, rad.
        robot: in any mount.
        foot: the clamped link, or "left_foot" or "right_foot".

    Returns:
        Positions (T, 3) and quaternions wxyz (T, 4) in the world.
    """
    return _Stand.of(robot, foot).base(q)


def with_base_through_foot(recording: Recording, robot: Robot, foot: str) -> Recording:
    """The recording with the base pose that its clamped foot implies; NaN where q is masked.

    Base velocities that the log may have belong to another frame, and are left out.
    """
    stand = _Stand.of(robot, foot)
    aligned = in_robot_order(recording, stand.robot)
    known = _known(recording, aligned, stand.chain(robot.root))
    pos, quat = base_through_foot(aligned.state.q, robot, foot)
    pos[~known], quat[~known] = np.nan, np.nan
    kept = {k: v for k, v in recording.channels.items() if k not in BASE_CHANNELS}
    return replace(recording, channels=kept | {"base_pos": pos, "base_quat_wxyz": quat})


def level_feet(
    recording: Recording,
    robot: Robot,
    foot: str,
    in_contact: np.ndarray | None = None,
    bound: float = 0.05,
) -> Recording:
    """Move the legs as little as puts the free foot on the floor that the clamped one stands on.

    HALO's program has the root and the leg joints as unknowns and demands that the clamped foot
    stays put. Here that foot is the root of the model: it cannot move, and the pose of the base
    follows from the joints between them. The joints alone remain, and one equation a frame, whose
    least solution has a closed form.

    Targets move along with q: a controller acts on what its encoders report, and its torque stays
    as it was. A base pose that the recording already has is computed anew.

    Args:
        recording: with the foot clamped.
        robot: in any mount; it has two feet.
        foot: the clamped one: its link, or "left_foot" or "right_foot".
        in_contact: (T,) True where the free foot stands on the floor; by default where it is
            within 2 cm of it. Frames that are masked are left as they are.
        bound: largest move of a joint, rad.
    """
    if not 0 < bound < np.inf:
        raise DataError(f"bound is {bound}; give the largest move of a joint in rad, above 0")
    legs = _Legs.of(robot, foot, recording.joints)
    aligned = in_robot_order(recording, legs.stand.robot)
    q, known = aligned.state.q, _known(recording, aligned, legs.joints)
    touching = np.abs(legs.height(q)) < TOUCHING if in_contact is None else _flags(in_contact, q)
    frames = np.flatnonzero(touching & known)
    moves = _least_moves(legs, q[frames], bound)
    away = np.abs(legs.height(legs.moved(q[frames], moves)))
    if (away > LEVEL).any():
        worst = int(frames[away.argmax()])
        raise DataError(_unreachable(recording, worst, legs, q[worst], bound))
    levelled = _applied(recording, legs.joints, frames, moves)
    has_base = "base_pos" in recording.channels
    return with_base_through_foot(levelled, robot, foot) if has_base else levelled


def _clamped(robot: Robot, foot: str) -> Robot:
    mounted = replace(robot, payloads={}).with_mount(foot)
    mounted.check_link(mounted.mount)  # "free" and "fixed" are mounts, but no links
    return mounted


@dataclass(frozen=True)
class _Stand:
    """A robot that stands on one foot, in whatever way its model is rooted.

    Attributes:
        robot: clamped.
        kinematics: of the robot hung by its root.
        foot: column of the clamped foot in the links of `kinematics`.
        root: column of the root.
        place: position and orientation of the clamped foot.
    """

    robot: Robot
    kinematics: Kinematics
    foot: int
    root: int
    place: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, robot: Robot, foot: str) -> _Stand:
        clamped = _clamped(robot, foot)
        kinematics = Kinematics.of(clamped.with_mount("fixed"))
        at, root = (kinematics.links.index(link) for link in (clamped.mount, robot.root))
        pos, quat = kinematics.link_poses(robot.joints.default)
        return cls(clamped, kinematics, at, root, (pos[0, at], quat[0, at]))

    def base(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pose of the root link: where it carries the foot to its place."""
        pos, quat = self.kinematics.link_poses(q)
        turn = mul(self.place[1], conj(quat[:, self.foot]))
        away = pos[:, self.root] - pos[:, self.foot]
        return self.place[0] + rotate(turn, away), mul(turn, quat[:, self.root])

    def heights(self, q: np.ndarray, link: int) -> np.ndarray:
        """(N,) heights of a link, given by its column."""
        return self.kinematics.link_poses(q, *self.base(q))[0][:, link, 2]

    def chain(self, link: str) -> list[str]:
        """The joints between the clamped foot and a link."""
        paths = [self._joints_above(k) for k in (self.robot.mount, link)]
        return [j for j in (*paths[0], *paths[1]) if (j in paths[0]) != (j in paths[1])]

    def _joints_above(self, link: str) -> list[str]:
        parents, found = self.kinematics.parents, []
        at = self.kinematics.links.index(link)
        while at >= 0:
            found += [j for j, k in self.kinematics.moved.items() if k == self.kinematics.links[at]]
            at = parents[at]
        return found


def _known(recording: Recording, aligned: Aligned, joints: Sequence[str]) -> np.ndarray:
    """(T,) True where the positions of these joints are; refuse a joint that never is."""
    logged = [j for j in joints if j not in recording.conditions.held]
    mask = recording.mask[:, [recording.column(j) for j in logged]]
    lost = [j for i, j in enumerate(logged) if not mask[:, i].any()]
    if lost:
        raise DataError(
            f"recording {recording.name!r} has no usable sample of {', '.join(lost)}, and what the "
            "clamped foot carries hangs on it; declare where it was held (conditions.held)"
        )
    return aligned.valid & mask.all(axis=1)


def _flags(in_contact: np.ndarray, q: np.ndarray) -> np.ndarray:
    flags = np.asarray(in_contact)
    if flags.shape != (len(q),) or flags.dtype != bool:
        raise DataError(
            f"in_contact has shape {flags.shape} of {flags.dtype}; expected ({len(q)},) of bool, "
            "True where the free foot stands on the floor"
        )
    return flags


@dataclass(frozen=True)
class _Legs:
    """The chain from the clamped foot to the free one.

    Attributes:
        stand: on the clamped foot.
        joints: those of the chain that may move: the logged ones.
        columns: of those joints in the robot.
        free: column of the free foot in the links.
        floor: height of the free foot's link while it stands, as in the default stance.
    """

    stand: _Stand
    joints: list[str]
    columns: list[int]
    free: int
    floor: float

    @classmethod
    def of(cls, robot: Robot, foot: str, logged: Sequence[str]) -> _Legs:
        """Clamp one foot of a robot with two."""
        stand = _Stand.of(robot, foot)
        feet = robot.link_groups.get("feet", ())
        if len(feet) != 2 or stand.robot.mount not in feet:
            raise DataError(
                f"{foot!r} must be one of two feet; the feet of {robot.name!r} are {list(feet)}"
            )
        (other,) = set(feet) - {stand.robot.mount}
        free = stand.kinematics.links.index(other)
        joints = [j for j in stand.chain(other) if j in logged]
        floor = float(stand.heights(robot.joints.default, free)[0])
        return cls(stand, joints, robot.joints.pick(joints), free, floor)

    def height(self, q: np.ndarray) -> np.ndarray:
        """(N,) of the free foot above the floor, m."""
        return self.stand.heights(q, self.free) - self.floor

    def slope(self, q: np.ndarray) -> np.ndarray:
        """(N, K) change of that height per change of each joint."""
        nudged = np.repeat(q[:, None], len(self.columns), axis=1)
        nudged[:, range(len(self.columns)), self.columns] += NUDGE
        raised = self.height(nudged.reshape(-1, q.shape[1])).reshape(nudged.shape[:2])
        return (raised - self.height(q)[:, None]) / NUDGE

    def moved(self, q: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """(N, J) positions after (N, K) moves."""
        q = q.copy()
        q[:, self.columns] += moves
        return q


def _least_moves(legs: _Legs, q: np.ndarray, bound: float) -> np.ndarray:
    """(N, K) least moves within the bound that put the free foot on the floor, or near it."""
    moves = np.zeros((len(q), len(legs.columns)))
    for _ in range(PASSES):
        now = legs.moved(q, moves)
        slope = legs.slope(now)
        moves = _least(slope, (slope * moves).sum(axis=1) - legs.height(now), bound)
    return moves


def _unreachable(recording: Recording, frame: int, legs: _Legs, q: np.ndarray, bound: float) -> str:
    needed = np.abs(_least(legs.slope(q[None]), -legs.height(q[None]), np.inf)).max()
    return (
        f"recording {recording.name!r}, frame {frame}: the free foot is "
        f"{legs.height(q[None])[0] * 1e3:.1f} mm above the floor; to put it down needs joint moves "
        f"up to {needed:.3g} rad, and the bound is {bound:g}. Mark frames with a lifted foot as "
        "not in_contact, correct the encoder offsets, or give a larger bound"
    )


def _least(slope: np.ndarray, rise: np.ndarray, bound: float) -> np.ndarray:
    """(N, K) least moves with slope·move = rise and no part above the bound.

    Without a bound the move is along the slope. A part that exceeds the bound stays at it, and the
    others take the rest.
    """
    moves, open_ = np.zeros_like(slope), np.ones(slope.shape, bool)
    for _ in range(slope.shape[1]):
        left = rise - np.where(open_, 0.0, slope * moves).sum(axis=1)
        gain = np.where(open_, slope**2, 0.0).sum(axis=1)
        share = left / np.maximum(gain, 1e-12)
        moves = np.where(open_, share[:, None] * slope, moves)
        over = np.abs(moves) > bound
        if not over.any():
            break
        moves, open_ = np.clip(moves, -bound, bound), open_ & ~over
    return moves


def _applied(
    recording: Recording, joints: list[str], frames: np.ndarray, moves: np.ndarray
) -> Recording:
    """The recording with the moves of some joints added to q and target of some frames."""
    where = np.ix_(frames, np.array([recording.column(j) for j in joints]))
    q, target = recording.q.copy(), recording.target
    q[where] += moves
    if target is not None:
        target = target.copy()
        target[where] += moves
    note = {"frames": len(frames), "largest_rad": float(np.abs(moves).max(initial=0.0))}
    provenance = recording.provenance | {"level_feet": note}
    return replace(recording, q=q, target=target, provenance=provenance)
