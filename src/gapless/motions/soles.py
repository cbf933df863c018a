"""Soles of a moving robot: how high each foot is, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.robots import Robot
from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, rotate
from gapless.robots.support_shapes import floor_shapes
from gapless.worlds.world import State


@dataclass(frozen=True)
class Soles:
    """(T, F) lowest point of each foot, its place, and the names of the feet."""

    height: np.ndarray
    place: np.ndarray
    names: tuple[str, ...]


def soles_of(robot: Robot, state: State) -> Soles | None:
    """Of (T, ...) states; None where nothing of the robot touches the floor."""
    kinematics, shapes = Kinematics.of(robot), floor_shapes(robot.model())
    solid = dict.fromkeys(shape.link for shape in shapes)
    links = [link for link in robot.feet if link in solid] or list(solid)
    if not links:
        return None
    pos, quat = kinematics.link_poses(state.q, state.base_pos, state.base_quat_wxyz)
    heights, places = [], []
    for link in links:
        k = kinematics.links.index(link)
        down = rotate(conj(quat[:, k]), np.array([0.0, 0.0, -1.0]))
        reach = np.max([s.reach(down) for s in shapes if s.link == link], axis=0)
        heights.append(pos[:, k, 2] - reach)
        places.append(pos[:, k, :2])
    return Soles(np.stack(heights, axis=1), np.stack(places, axis=1), tuple(links))
