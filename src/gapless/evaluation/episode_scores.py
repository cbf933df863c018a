"""The numbers of each episode: what it did with the command, and what that asked of the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gapless.evaluation.policy_episodes import Episodes, floor_height, tilt
from gapless.robots import Kinematics
from gapless.robots.rotations import rotate

SETTLE = 1.0
"""Seconds at the start, and after each new command, in which a velocity is not scored."""
SMOOTH = 1.0
"""Seconds over which a walking robot's velocity is averaged: a stride and more."""
NEAR_LIMIT = 0.98
"""Share of a limit at which it counts as reached."""
LIFTED = 0.01
"""A foot lower than this above its stance stands, m."""


@dataclass(frozen=True)
class Scored:
    """A number of every episode.

    Attributes:
        unit: of it.
        what: one line for people.
        of: (n,) from episodes; NaN where it says nothing.
    """

    unit: str
    what: str
    of: Callable[[Motions], np.ndarray]


class Motions:
    """What scores have in common: velocities in the robot's heading, masks, feet."""

    def __init__(self, episodes: Episodes) -> None:
        self.episodes = episodes
        self.robot, self.rate = episodes.robot, episodes.rate
        self.after = episodes.states.map(lambda a: a[:, 1:])
        """States at the end of each step."""

    def mean(self, values: np.ndarray, usable: np.ndarray | None = None) -> np.ndarray:
        """(n,) mean over the (n, T) usable steps; NaN where there are none."""
        usable = self.episodes.alive if usable is None else usable
        count = usable.sum(axis=1)
        total = np.where(usable, values, 0.0).sum(axis=1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def peak(self, values: np.ndarray) -> np.ndarray:
        """(n,) largest over the steps before a fall."""
        return np.where(self.episodes.alive, values, -np.inf).max(axis=1)

    @cached_property
    def velocity(self) -> np.ndarray:
        """(n, T, 3) vx and vy in the robot's heading, and its turning, m/s and rad/s."""
        quat, spin = self.after.base_quat_wxyz, self.after.base_ang_vel_b
        assert quat is not None and spin is not None
        ahead = rotate(quat, np.array([1.0, 0.0, 0.0]))[..., :2]
        ahead = ahead / np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-9)
        moved = self.after.base_lin_vel_w[..., :2]  # type: ignore[index]
        left = np.stack([-ahead[..., 1], ahead[..., 0]], axis=-1)
        turning = rotate(quat, spin)[..., 2]
        return np.stack([(moved * ahead).sum(-1), (moved * left).sum(-1), turning], axis=-1)

    @cached_property
    def steady(self) -> np.ndarray:
        """(n, T) steps before a fall in which the command has been the same for a while."""
        asked = self.episodes.commands.get("velocity")
        window = round((SETTLE + SMOOTH) * self.rate)
        new = np.zeros(self.episodes.alive.shape, bool)
        new[:, 0] = True
        if asked is not None:
            new[:, 1:] |= (np.diff(asked, axis=1) != 0).any(axis=-1)
        step = np.arange(self.episodes.steps)
        since = step - np.maximum.accumulate(np.where(new, step, 0), axis=1)
        return self.episodes.alive & (since >= window)

    @cached_property
    def feet(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, T, F) horizontal speed of each foot, and whether it stands."""
        links = self.robot.feet
        if not links:
            empty = np.zeros((*self.episodes.alive.shape, 0))
            return empty, empty.astype(bool)
        kinematics, states = Kinematics.of(self.robot), self.episodes.states
        flat = [states.fields[k].reshape(-1, states.fields[k].shape[-1]) for k in _POSE]
        columns = [kinematics.links.index(link) for link in links]
        pos = kinematics.link_poses(*flat)[0][:, columns]
        pos = pos.reshape(*states.q.shape[:2], len(columns), 3)
        high = pos[..., 2] - floor_height(self.robot.floor, pos[..., :2])
        down = high[:, 1:] < high[:, :1].min(axis=-1, keepdims=True) + LIFTED
        # A foot that stands on both sides of a step has slipped over it.
        stands = down & np.concatenate([down[:, :1], down[:, :-1]], axis=1)
        return np.linalg.norm(np.diff(pos[..., :2], axis=1), axis=-1) * self.rate, stands


_POSE = ("q", "base_pos", "base_quat_wxyz")


def _speed(motions: Motions, axis: int) -> np.ndarray:
    return motions.mean(motions.velocity[..., axis], motions.steady)


def _velocity_error(motions: Motions, axes: slice) -> np.ndarray:
    """Distance of the velocity, averaged over a stride, from the command."""
    asked = motions.episodes.commands.get("velocity")
    if asked is None or asked.shape[-1] != 3:
        return np.full(len(motions.episodes.fell), np.nan)
    off = _smoothed(motions.velocity, round(SMOOTH * motions.rate)) - asked
    return motions.mean(np.linalg.norm(off[..., axes], axis=-1), motions.steady)


def _smoothed(values: np.ndarray, window: int) -> np.ndarray:
    """Mean over the last `window` steps, along the second axis."""
    total = np.cumsum(np.pad(values, ((0, 0), (window, 0), (0, 0))), axis=1)
    return (total[:, window:] - total[:, :-window]) / window


def _load(motions: Motions) -> np.ndarray:
    """(n, T, J) torque as a share of each motor's limit; 0 where no limit is known."""
    effort = motions.robot.joints.effort
    limit = np.where((effort > 0) & np.isfinite(effort), effort, np.inf)
    return np.abs(motions.episodes.torque) / limit


def _power(motions: Motions) -> np.ndarray:
    """(n, T, J) mechanical power of each joint, W."""
    return motions.episodes.torque * motions.after.dq


def _near_ends(motions: Motions) -> np.ndarray:
    """(n, T) share of joints within a fiftieth of their range's ends."""
    joints = motions.robot.joints
    middle, half = (joints.upper + joints.lower) / 2, (joints.upper - joints.lower) / 2
    far = np.abs(motions.after.q - middle) > NEAR_LIMIT * half
    return np.where(np.isfinite(half), far, False).mean(axis=-1)


def _slip(motions: Motions) -> np.ndarray:
    speed, stands = motions.feet
    usable = stands & motions.episodes.alive[..., None]
    count = usable.sum(axis=(1, 2))
    total = np.where(usable, speed, 0.0).sum(axis=(1, 2))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _roughness(motions: Motions) -> np.ndarray:
    """Mean change of a target between steps, per second."""
    targets = motions.episodes.targets
    change = np.abs(np.diff(targets, axis=1, prepend=targets[:, :1])).mean(axis=-1)
    return motions.mean(change) * motions.rate


SCORES: dict[str, Scored] = {
    "vx": Scored("m/s", "mean forward velocity", lambda m: _speed(m, 0)),
    "vy": Scored("m/s", "mean velocity to the left", lambda m: _speed(m, 1)),
    "wz": Scored("rad/s", "mean turning", lambda m: _speed(m, 2)),
    "velocity_error": Scored(
        "m/s", "distance from the commanded velocity", lambda m: _velocity_error(m, slice(0, 2))
    ),
    "turning_error": Scored(
        "rad/s", "distance from the commanded turning", lambda m: _velocity_error(m, slice(2, 3))
    ),
    "tilt": Scored("rad", "largest tilt of the base", lambda m: m.peak(tilt(m.after))),
    "foot_slip": Scored("m/s", "speed of standing feet", _slip),
    "torque_peak": Scored(
        "share", "largest torque of its limit", lambda m: m.peak(_load(m).max(-1))
    ),
    "torque_limited": Scored(
        "share",
        "of steps with a motor at its limit",
        lambda m: m.mean(_load(m).max(-1) > NEAR_LIMIT),
    ),
    "joint_limited": Scored(
        "share", "of joints near the end of their range", lambda m: m.mean(_near_ends(m))
    ),
    "power_peak": Scored(
        "W", "largest power of all joints", lambda m: m.peak(np.abs(_power(m)).sum(-1))
    ),
    "power": Scored(
        "W", "mean power that motors give", lambda m: m.mean(np.maximum(_power(m), 0).sum(-1))
    ),
    "roughness": Scored("rad/s", "mean change of targets", _roughness),
}
"""Every number of an episode, by name."""


def score_episodes(episodes: Episodes) -> dict[str, np.ndarray]:
    """Name -> (n,)."""
    motions = Motions(episodes)
    return {name: np.asarray(scored.of(motions), float) for name, scored in SCORES.items()}


def joint_peaks(episodes: Episodes) -> dict[str, float]:
    """Joint -> largest torque of its limit over all episodes, before falls."""
    load = np.where(episodes.alive[..., None], _load(Motions(episodes)), 0.0).max(axis=(0, 1))
    return dict(zip(episodes.robot.joints.names, map(float, load), strict=True))
