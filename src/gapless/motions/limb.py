"""A limb: a point that moves, and the joints that carry it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapless.errors import DataError
from gapless.robots import Robot
from gapless.robots.joints import TrackingPoint
from gapless.robots.kinematics import Kinematics

if TYPE_CHECKING:
    import mujoco


@dataclass(frozen=True)
class Limb:
    """A point and the joints between it and the root.

    Attributes:
        point: what moves.
        joints: in the robot's order.
        length: from the first of them to the point, m.
        home: where the point is in the default pose, m.
        top: where the limb begins there, m.
    """

    point: TrackingPoint
    joints: tuple[str, ...]
    length: float
    home: np.ndarray
    top: np.ndarray


def limb_of(robot: Robot, point: TrackingPoint) -> Limb:
    """The limb that ends in a point, the robot's root fixed."""
    hung = robot.with_mount("fixed")
    model = hung.model()
    chain = list(_chain(model, model.body(point.body).id))
    names = {model.joint(j).name for body in chain for j in _joints(model, body)}
    joints = tuple(j for j in robot.joints.names if j in names)
    if not joints:
        raise DataError(f"{point.name!r} of {robot.name} does not move: no joint carries it")
    top = TrackingPoint("top", model.body(chain[-1]).name)
    home, start = Kinematics(model, hung).points(robot.joints.default, points=[point, top])[0]
    steps = [model.body_pos[body] for body in chain[:-1]] + [point.offset]
    length = float(sum(np.linalg.norm(step) for step in steps))
    return Limb(point, joints, length, home, start)


def _chain(model: mujoco.MjModel, body: int) -> Iterator[int]:
    """Bodies from the foot up to the first one that a joint moves."""
    while model.body_weldid[body]:
        yield body
        body = model.body_parentid[body]


def _joints(model: mujoco.MjModel, body: int) -> range:
    return range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
