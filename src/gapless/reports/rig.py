"""A robot's links as a tree that can be posed: looks, parents, and poses of each to its parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.measurement.side_by_side import SideBySide
from gapless.reports.link_meshes import link_meshes, reach
from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, mul, rotate

FINEST = 2.0**-13
"""Poses are rounded to this, m and parts of a unit quaternion, so that they pack well."""


@dataclass(frozen=True)
class Poses:
    """Poses of links to their parents, over time.

    Attributes:
        pos: (T, B, 3), m.
        quat_wxyz: (T, B, 4).
    """

    pos: np.ndarray
    quat_wxyz: np.ndarray

    def __len__(self) -> int:
        return len(self.pos)


class Rig:
    """What is needed to draw a robot in any pose; made once a robot.

    Attributes:
        links: names of the links, parents first.
        parents: index of each link's parent, -1 for a root.
        meshes: looks by link.
        movers: index of the joint that moves each link, -1 where it is welded.
        size: length of the longest chain of links, m.
    """

    def __init__(self, robot: Robot) -> None:
        model = robot.model()
        self.robot = robot
        self._kinematics = Kinematics(model, robot)
        self.links = self._kinematics.links
        self.parents = self._kinematics.parents
        self.meshes = link_meshes(robot)
        self.size = reach(model)
        movers = {link: robot.joints.index(j) for j, link in self._kinematics.moved.items()}
        self.movers = [movers.get(link, -1) for link in self.links]

    def poses(self, clip: SideBySide, track: str, frames: np.ndarray) -> Poses:
        """How a robot of a clip moved, for drawing.

        Args:
            clip: of this robot; joints are matched by name.
            track: which of the clip's robots.
            frames: (N,) samples wanted.
        """
        pos, quat = self.world_poses(clip, track, frames)
        local_pos, local_quat = pos.copy(), quat.copy()
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                back = conj(quat[:, parent])
                local_pos[:, i] = rotate(back, pos[:, i] - pos[:, parent])
                local_quat[:, i] = mul(back, quat[:, i])
        return Poses(_rounded(local_pos), _rounded(_steady(local_quat)))

    def link_values(self, clip: SideBySide, values: np.ndarray) -> np.ndarray:
        """(B,) for each link the value (J,) of the joint that moves it; NaN where there is none."""
        known = np.append(self._columns(clip, values[None])[0], np.nan)
        return known[self.movers]

    def world_poses(
        self, clip: SideBySide, track: str, frames: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions (N, B, 3) and quaternions (N, B, 4); where nothing is known the last holds."""
        shown = clip.tracks[track]
        q = held(self._columns(clip, shown.q), self.robot.joints.default)[frames]
        base = [
            None if part is None or not np.isfinite(part).all(axis=1).any() else held(part)[frames]
            for part in (shown.base_pos, shown.base_quat_wxyz)
        ]
        return self._kinematics.link_poses(q, *base)

    def _columns(self, clip: SideBySide, values: np.ndarray) -> np.ndarray:
        """(T, J) values in the robot's joint order; NaN for joints that the clip lacks."""
        names = self.robot.joints.names
        if not set(names) & set(clip.joints):
            raise DataError(
                f"the replay has joints {', '.join(clip.joints[:3])}, ..., none of which the robot "
                f"{self.robot.name!r} has; name the robot of the recordings with --robot"
            )
        column = {name: j for j, name in enumerate(clip.joints)}
        missing = np.full(len(values), np.nan)
        return np.stack([values[:, column[n]] if n in column else missing for n in names], axis=1)


def held(values: np.ndarray, rest: np.ndarray | None = None) -> np.ndarray:
    """(T, C) with each column's gaps filled by what was before; by `rest` (C,) if nothing was."""
    known = np.isfinite(values)
    last = np.maximum.accumulate(np.where(known, np.arange(len(values))[:, None], -1), axis=0)
    first = np.argmax(known, axis=0)
    filled = np.take_along_axis(values, np.where(last < 0, first, last), axis=0)
    return np.where(np.isfinite(filled), filled, 0.0 if rest is None else rest)


def _steady(quat: np.ndarray) -> np.ndarray:
    """Of q and -q, the same turn, the one whose largest part is above zero on average."""
    mean = quat.mean(axis=0)
    largest = np.abs(mean).argmax(axis=-1)[:, None]
    return quat * np.where(np.take_along_axis(mean, largest, axis=-1) < 0, -1.0, 1.0)


def _rounded(values: np.ndarray) -> np.ndarray:
    return np.round(values / FINEST) * FINEST
