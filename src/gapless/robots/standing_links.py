"""The links that a robot stands on, where nobody has named its feet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapless.robots.kinematics import Kinematics
from gapless.robots.rotations import conj, rotate
from gapless.robots.support_shapes import floor_shapes

if TYPE_CHECKING:
    from gapless.robots.robot import Robot

LOW = 0.03
"""A link that reaches this near to the lowest point of the default pose is a foot, m."""
DOWN = np.array([0.0, 0.0, -1.0])


def standing_links(robot: Robot) -> tuple[str, ...]:
    """The links that reach lowest in the default pose, without those that carry another of them."""
    kinematics = Kinematics.of(robot)
    pos, quat = kinematics.link_poses(robot.joints.default, np.zeros(3), np.array([1.0, 0, 0, 0]))
    bottom: dict[str, float] = {}
    for shape in floor_shapes(robot.model()):
        i = kinematics.links.index(shape.link)
        low = pos[0, i, 2] - float(shape.reach(rotate(conj(quat[0, i]), DOWN)))
        bottom[shape.link] = min(low, bottom.get(shape.link, np.inf))
    low = [link for link, z in bottom.items() if z < min(bottom.values()) + LOW]
    carriers = {parent for link in low for parent in _above(kinematics, link)}
    return tuple(link for link in low if link not in carriers)


def _above(kinematics: Kinematics, link: str) -> list[str]:
    found, i = [], kinematics.parents[kinematics.links.index(link)]
    while i >= 0:
        found.append(kinematics.links[i])
        i = kinematics.parents[i]
    return found
