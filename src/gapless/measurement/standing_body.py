"""A free robot as what stands on the floor: its shapes, its feet, its masses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.measurement.feet import Foot, feet_of
from gapless.measurement.sinking import sinking
from gapless.measurement.stance import SeenFeet, up_of
from gapless.robots import Kinematics, Robot
from gapless.robots.kinematics import Poses
from gapless.robots.rotations import conj, normalise, rotate
from gapless.robots.support_shapes import SupportShape, floor_shapes

UPWARD = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class StandingBody:
    """A free robot as what stands on the floor.

    Attributes:
        robot: mounted free.
        kinematics: of it.
        shapes: what of it can touch the floor.
        feet: what it stands on.
        mass: (B,) of its links, kg.
        centre: (B, 3) their centres of mass.
    """

    robot: Robot
    kinematics: Kinematics
    shapes: tuple[SupportShape, ...]
    feet: tuple[Foot, ...]
    mass: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> StandingBody:
        """Compile the robot and find its feet."""
        model = robot.model()
        kinematics = Kinematics(model, robot)
        bodies = [model.body(link).id for link in kinematics.links]
        mass = model.body_mass[bodies]
        shapes = floor_shapes(model)
        feet = tuple(feet_of(robot, kinematics, shapes))
        return cls(robot, kinematics, shapes, feet, mass, model.body_ipos[bodies].copy())

    def poses(self, q: np.ndarray) -> Poses:
        """Of all links, seen from the base."""
        return self.kinematics.link_poses(q, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))

    def seen(self, poses: Poses) -> SeenFeet:
        """The feet, seen from the base."""
        pos, quat = poses
        columns = [self.kinematics.links.index(foot.link) for foot in self.feet]
        centres = pos + rotate(quat, self.centre)
        mass = np.einsum("b,tbk->tk", self.mass / self.mass.sum(), centres)
        return SeenFeet(self.feet, pos[:, columns], quat[:, columns], mass)

    def lowest(self, poses: Poses, up: np.ndarray) -> np.ndarray:
        """(T,) height of the robot's lowest point above its base along (T, 3) directions."""
        lowest = np.full(len(up), np.inf)
        for shape in self.shapes:
            pos, quat = (array[:, self.kinematics.links.index(shape.link)] for array in poses)
            bottom = (pos * up).sum(axis=1) - shape.reach(-rotate(conj(quat), up))
            lowest = np.minimum(lowest, bottom)
        return lowest

    def sinking(self) -> float:
        """How deep it stands in the floor in its default pose, m."""
        q = self.robot.joints.default
        poses = self.poses(q)
        up = up_of(self.seen(poses), np.ones((1, len(self.feet))), UPWARD[None])
        bottom = self.lowest(poses, up)[0]
        level = replace(self.robot, floor=replace(self.robot.floor, slope=0.0, step_height=0.0))
        return sinking(level, q, np.array([0.0, 0.0, -bottom]), upright(up)[0])


def upright(up: np.ndarray) -> np.ndarray:
    """(T, 4) the least turns that make (T, 3) directions of the base point up."""
    w, x, y = 1 + up[:, 2], up[:, 1], -up[:, 0]
    return normalise(np.stack([w, x, y, np.zeros_like(w)], axis=1))
