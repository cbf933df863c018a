"""What a step of a tracker is worth: the terms of ASAP and of BeyondMimic, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gapless.errors import unknown
from gapless.robots.body_states import BodyStates
from gapless.robots.rotations import angle_between, conj, rotate
from gapless.tracking.tracked_step import DOWN, TrackedStep


@dataclass(frozen=True)
class RewardTerm:
    """One term.

    Attributes:
        of: (n,) of a step; a penalty is counted as it is, its weight is below 0.
        what: one line.
        penalty: whether the curriculum scales it.
    """

    of: Callable[[TrackedStep], np.ndarray]
    what: str
    penalty: bool = False


def reward(step: TrackedStep, weights: dict[str, float], penalties: float = 1.0) -> np.ndarray:
    """(n,) weighted sum of the terms; `penalties` is the curriculum's share of those."""
    total = np.zeros(len(step.state))
    for name, weight in weights.items():
        if name not in TERMS:
            raise unknown("reward", name, TERMS)
        term = TERMS[name]
        total += weight * (penalties if term.penalty else 1.0) * term.of(step)
    return total


def _square(values: np.ndarray) -> np.ndarray:
    """(n,) mean over bodies and axes."""
    return (values**2).reshape(len(values), -1).mean(axis=1)


def _body_position(step: TrackedStep) -> np.ndarray:
    low, high = _square(step.away[:, step.which.lower]), _square(step.away[:, step.which.upper])
    return 0.5 * np.exp(-low / 0.1) + np.exp(-high / 0.03)


def _near(columns: str) -> Callable[[TrackedStep], np.ndarray]:
    def near(step: TrackedStep) -> np.ndarray:
        chosen: Sequence[int] = getattr(step.which, columns)
        return np.exp(-_square(step.away[:, chosen]) / 0.03) if len(chosen) else _none(step)

    return near


def _none(step: TrackedStep) -> np.ndarray:
    return np.zeros(len(step.state))


def _alike(field: str) -> Callable[[TrackedStep], np.ndarray]:
    def alike(step: TrackedStep) -> np.ndarray:
        return np.exp(-_square(getattr(step.bodies, field) - getattr(step.wanted_bodies, field)))

    return alike


def _beyond(excess: np.ndarray) -> np.ndarray:
    return np.maximum(excess, 0.0)


def _position_limit(step: TrackedStep) -> np.ndarray:
    joints, share = step.robot.joints, step.soft.get("position", 0.95)
    known = np.isfinite(joints.lower) & np.isfinite(joints.upper)
    low, high = (np.where(known, bound, 0.0) for bound in (joints.lower, joints.upper))
    off = np.abs(step.state.q - (low + high) / 2)
    return (known * _beyond(off - share * (high - low) / 2)).sum(axis=1)


def _velocity_limit(step: TrackedStep) -> np.ndarray:
    limit = _known(step.robot.joints.velocity)
    return np.clip(np.abs(step.state.dq) - step.soft.get("velocity", 0.95) * limit, 0, 1).sum(1)


def _torque_limit(step: TrackedStep) -> np.ndarray:
    limit = _known(step.robot.joints.effort)
    over = np.abs(_torque(step)) - step.soft.get("torque", 0.85) * limit
    return np.clip(over, 0, 1).sum(axis=1)


def _torque(step: TrackedStep) -> np.ndarray:
    return _none(step)[:, None] if step.state.torque is None else step.state.torque


def _known(limit: np.ndarray) -> np.ndarray:
    return np.where((limit > 0) & np.isfinite(limit), limit, np.inf)


def _tilted_feet(step: TrackedStep) -> np.ndarray:
    feet = step.bodies.quat_wxyz[:, step.which.feet]
    return np.linalg.norm(rotate(conj(feet), DOWN)[..., :2], axis=-1).sum(axis=1)


def _turned_feet(step: TrackedStep) -> np.ndarray:
    if step.state.base_quat_wxyz is None:
        return _none(step)
    root = _yaw(step.state.base_quat_wxyz)[:, None]
    off = _yaw(step.bodies.quat_wxyz[:, step.which.feet]) - root
    return np.abs((off + np.pi) % (2 * np.pi) - np.pi).sum(axis=1)


def _yaw(quat: np.ndarray) -> np.ndarray:
    w, x, y, z = np.moveaxis(quat, -1, 0)
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _slip(step: TrackedStep) -> np.ndarray:
    speed = np.linalg.norm(step.bodies.lin_vel[:, step.which.feet], axis=-1)
    return (speed * step.touches).sum(axis=1)


def _kernel(squared: np.ndarray, width: float) -> np.ndarray:
    """BeyondMimic's: mean squared distance of bodies over a squared width."""
    return np.exp(-squared.reshape(len(squared), -1).mean(axis=1) / width**2)


def _anchor(bodies: BodyStates, step: TrackedStep) -> BodyStates:
    return bodies.of([step.which.anchor])


def _anchor_position(step: TrackedStep) -> np.ndarray:
    off = step.away[:, [step.which.anchor]]
    return _kernel((off**2).sum(-1), 0.3)


def _anchor_turn(step: TrackedStep) -> np.ndarray:
    mine, its = (_anchor(b, step).quat_wxyz for b in (step.bodies, step.wanted_bodies))
    return _kernel(angle_between(mine, its) ** 2, 0.4)


def _relative_position(step: TrackedStep) -> np.ndarray:
    return _kernel(((step.bodies.pos - step.relative.pos) ** 2).sum(-1), 0.3)


def _relative_turn(step: TrackedStep) -> np.ndarray:
    return _kernel(angle_between(step.bodies.quat_wxyz, step.relative.quat_wxyz) ** 2, 0.4)


def _speeds(field: str, width: float) -> Callable[[TrackedStep], np.ndarray]:
    def speeds(step: TrackedStep) -> np.ndarray:
        off = getattr(step.bodies, field) - getattr(step.wanted_bodies, field)
        return _kernel((off**2).sum(-1), width)

    return speeds


TERMS: dict[str, RewardTerm] = {
    "body_position": RewardTerm(_body_position, "bodies where they should be"),
    "ends": RewardTerm(_near("ends"), "hands and head where they should be"),
    "feet": RewardTerm(_near("feet"), "feet where they should be"),
    "rotation": RewardTerm(lambda s: np.exp(-_square(s.angle)), "bodies turned as they should"),
    "body_velocity": RewardTerm(_alike("lin_vel"), "their velocities"),
    "body_spin": RewardTerm(_alike("ang_vel"), "their angular velocities"),
    "joint_position": RewardTerm(lambda s: np.exp(-_square(s.state.q - s.wanted.q)), "joints"),
    "joint_velocity": RewardTerm(lambda s: np.exp(-_square(s.state.dq - s.wanted.dq)), "speeds"),
    "anchor_position": RewardTerm(_anchor_position, "the anchor where it should be"),
    "anchor_turn": RewardTerm(_anchor_turn, "the anchor turned as it should"),
    "relative_position": RewardTerm(_relative_position, "bodies, seen from the anchor"),
    "relative_turn": RewardTerm(_relative_turn, "their turns, seen from the anchor"),
    "speed": RewardTerm(_speeds("lin_vel", 1.0), "velocities of bodies"),
    "spin": RewardTerm(_speeds("ang_vel", 3.14), "angular velocities of bodies"),
    "torque": RewardTerm(lambda s: (_torque(s) ** 2).sum(1), "squared torques", True),
    "action_rate": RewardTerm(
        lambda s: ((s.action - s.before) ** 2).sum(1), "squared change of actions", True
    ),
    "tilted_feet": RewardTerm(_tilted_feet, "feet that are not level", True),
    "turned_feet": RewardTerm(_turned_feet, "feet turned off the root's heading", True),
    "slip": RewardTerm(_slip, "speed of feet on the floor", True),
    "position_limit": RewardTerm(_position_limit, "joints beyond their soft range", True),
    "velocity_limit": RewardTerm(_velocity_limit, "speeds beyond their soft limit", True),
    "torque_limit": RewardTerm(_torque_limit, "torques beyond their soft limit", True),
}
"""Every term, by name."""

ASAP = {
    **{"body_position": 1.0, "ends": 1.6, "feet": 2.1, "rotation": 0.5, "body_velocity": 0.5},
    **{"body_spin": 0.5, "joint_position": 0.75, "joint_velocity": 0.5},
    **{"torque": -1e-6, "action_rate": -0.5, "tilted_feet": -2.0, "turned_feet": -0.1},
    **{"slip": -1.0, "position_limit": -10.0, "velocity_limit": -5.0, "torque_limit": -5.0},
}
"""Table I of ASAP; the termination is the task's."""
BEYONDMIMIC = {
    **{"anchor_position": 0.5, "anchor_turn": 0.5, "relative_position": 1.0, "relative_turn": 1.0},
    **{"speed": 1.0, "spin": 1.0, "action_rate": -0.1, "position_limit": -10.0},
}
"""BeyondMimic's, without its penalty of other contacts than feet and hands."""
