"""Rewards of the three papers: how well a corrected copy follows its recording, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gapless.corrections.training.reward_inputs import Bodies, RewardInputs
from gapless.robots.rotations import conj, mul, rotation_vector


@dataclass(frozen=True)
class Gaponet:
    """GAPONet's: minus the squared errors of the corrected joints.

    Attributes:
        scale: of all of it.
        velocity: weight of the velocity error against the position error, s².
        termination: of an environment that diverged: as if it were 1 rad off.
    """

    scale: float = (36 / (2 * np.pi)) ** 2
    velocity: float = 0.01
    termination: float = -((36 / (2 * np.pi)) ** 2)

    def __call__(self, now: RewardInputs) -> np.ndarray:
        """(n,) rewards."""
        q, dq = (e[:, now.scene.columns] for e in (now.q_error, now.dq_error))
        squares = (q**2).mean(axis=1) + self.velocity * (dq**2).mean(axis=1)
        return np.where(now.lost, self.termination, -self.scale * squares)


@dataclass(frozen=True)
class Residual:
    """That of residual torques from encoders: to mimic positions and velocities, gently.

    Attributes:
        q: weight of the position.
        dq: of the velocity.
        bonus: of a position within `near` (rad).
        torque: of the motors' squared torques.
        speed: of the squared velocities.
        acceleration: of the squared accelerations.
        action_rate: of the squared changes of the action.
        action_bend: of the squared changes of those.
        near: rad.
        width: an error of its root (rad, rad/s) is worth 1/e; the seed leaves it open.
        termination: of an environment that diverged.
    """

    q: float = 5.0
    dq: float = 3.0
    bonus: float = 10.0
    torque: float = -0.5e-5
    speed: float = -0.5e-3
    acceleration: float = -0.5e-6
    action_rate: float = -0.5e-4
    action_bend: float = -0.5e-6
    near: float = 1e-3
    width: float = 0.25
    termination: float = 0.0

    def __call__(self, now: RewardInputs) -> np.ndarray:
        """(n,) rewards."""
        q = now.q_error[:, now.scene.columns]
        dq = now.dq_error[:, now.scene.columns]
        ddq = (now.state.dq - now.before.dq) * now.scene.rate
        a, a1, a2 = now.actions
        total = (
            self.q * np.exp(-_square(q) / self.width)
            + self.dq * np.exp(-_square(dq) / self.width)
            + self.bonus * (np.abs(q) < self.near).mean(axis=1)
            + self.torque * _square(now.torque)
            + self.speed * _square(now.state.dq)
            + self.acceleration * _square(ddq)
            + self.action_rate * _square(a - a1)
            + self.action_bend * _square(a - 2 * a1 + a2)
        )
        return np.where(now.lost, self.termination, total)


@dataclass(frozen=True)
class Asap:
    """ASAP's, with the weights of its delta action training; all of it times the control step.

    Attributes:
        body_position: weight of points of the upper and (half as much) the lower body.
        vr3: of head and hands.
        feet: of the feet.
        rotation: of the links' orientations.
        body_velocity: of the points' velocities.
        body_turning: of the links' angular velocities.
        q: of joint positions.
        dq: of joint velocities.
        action_rate: of squared changes of the action.
        q_limit: of positions beyond the soft range.
        dq_limit: of speeds beyond the soft limit.
        torque_limit: of torques beyond the soft limit.
        soft: share of a limit that is free.
        termination: of an environment that diverged.
        norm: weight that keeps actions small.
        bounded: +norm·(exp(-|Δ|) - 1); otherwise -norm·(exp(|Δ|) - 1), as published.
    """

    body_position: float = 1.0
    vr3: float = 1.0
    feet: float = 1.0
    rotation: float = 0.5
    body_velocity: float = 0.5
    body_turning: float = 0.5
    q: float = 0.5
    dq: float = 0.5
    action_rate: float = -0.01
    q_limit: float = -10.0
    dq_limit: float = -5.0
    torque_limit: float = -0.1
    soft: float = 0.95
    termination: float = -200.0
    norm: float = 0.1
    bounded: bool = True

    def __call__(self, now: RewardInputs) -> np.ndarray:
        """(n,) rewards."""
        total = self._of_joints(now) + self._of_actions(now) + self._of_limits(now)
        bodies = now.scene.bodies
        if bodies is not None:
            total = total + self._of_bodies(now, bodies)
        return np.where(now.lost, self.termination, total) / now.scene.rate

    def _of_joints(self, now: RewardInputs) -> np.ndarray:
        q, dq = (now.q_error**2).mean(axis=1), (now.dq_error**2).mean(axis=1)
        return self.q * np.exp(-q) + self.dq * np.exp(-dq)

    def _of_actions(self, now: RewardInputs) -> np.ndarray:
        size = np.linalg.norm(now.actions[0], axis=1)
        small = np.exp(-size) - 1 if self.bounded else 1 - np.exp(size)
        return self.norm * small + self.action_rate * _square(now.actions[0] - now.actions[1])

    def _of_limits(self, now: RewardInputs) -> np.ndarray:
        joints, soft = now.scene.robot.joints, self.soft
        margin = (1 - soft) / 2 * _finite(joints.upper - joints.lower)
        q, dq = now.state.q, np.abs(now.state.dq)
        beyond = _over(joints.lower + margin - q) + _over(q - joints.upper + margin)
        fast = np.minimum(_over(dq - soft * joints.velocity), 1.0)
        strong = _over(np.abs(now.torque) - soft * joints.effort)
        return (
            self.q_limit * beyond.sum(axis=1)
            + self.dq_limit * fast.sum(axis=1)
            + self.torque_limit * strong.sum(axis=1)
        )

    def _of_bodies(self, now: RewardInputs, bodies: Bodies) -> np.ndarray:
        mine, real = bodies.poses(now.state), bodies.poses(now.real)
        gap = mine[0] - real[0]
        turn = rotation_vector(mul(conj(real[1]), mine[1]))
        velocity = bodies.velocities(now.state, mine), bodies.velocities(now.real, real)
        pace, spin = (a - b for a, b in zip(*velocity, strict=True))
        total = self.rotation * np.exp(-(turn**2).sum(axis=-1).mean(axis=1))
        total += self.body_velocity * np.exp(-_mean_square(pace))
        total += self.body_turning * np.exp(-_mean_square(spin))
        weights = {
            "lower": (0.5 * self.body_position, 0.1),
            "upper": (self.body_position, 0.03),
            "vr3": (self.vr3, 0.03),
            "feet": (self.feet, 0.03),
        }
        for group, (weight, width) in weights.items():
            if group in bodies.groups:
                total += weight * np.exp(-_mean_square(gap[:, bodies.groups[group]]) / width)
        return total


Reward = Callable[[RewardInputs], np.ndarray]

REWARDS: dict[str, type[Gaponet | Residual | Asap]] = {
    "gaponet": Gaponet,
    "asap": Asap,
    "residual": Residual,
}
"""Name -> its class."""


def suited(head: str, mount: str) -> str:
    """The reward of the paper that trained such a correction."""
    if head == "torque":
        return "residual"
    return "asap" if mount == "free" else "gaponet"


def _square(values: np.ndarray) -> np.ndarray:
    return (values**2).sum(axis=1)


def _mean_square(values: np.ndarray) -> np.ndarray:
    """(n,) over points and axes."""
    return (values**2).mean(axis=(1, 2))


def _over(values: np.ndarray) -> np.ndarray:
    return np.maximum(values, 0.0)


def _finite(values: np.ndarray) -> np.ndarray:
    """An endless range has no margin."""
    return np.where(np.isfinite(values), values, 0.0)
