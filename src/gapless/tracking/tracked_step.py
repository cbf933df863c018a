"""TrackedStep: one control step of n environments, from which all rewards are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gapless.robots import Robot
from gapless.robots.body_states import BodyStates
from gapless.robots.rotations import angle_between, conj, mul, rotate
from gapless.worlds.world import State

DOWN = np.array([0.0, 0.0, -1.0])
STANDS = 0.03
"""A foot less than this above where it is when the robot stands touches the floor, m."""


@dataclass(frozen=True)
class TrackedBodies:
    """Columns of the bodies that rewards look at.

    Attributes:
        upper: arms and head; all bodies where the robot does not say.
        lower: the rest.
        ends: hands and head, ASAP's three points of a headset.
        feet: those that touch the floor; none where it does not say.
        anchor: the body that stands for the whole robot.
        standing: (F,) heights of the feet when the robot stands, m.
    """

    upper: Sequence[int]
    lower: Sequence[int]
    ends: Sequence[int]
    feet: Sequence[int]
    anchor: int
    standing: np.ndarray

    @classmethod
    def of(
        cls, robot: Robot, names: tuple[str, ...], anchor: str, home: BodyStates
    ) -> TrackedBodies:
        """By the robot's groups of tracking points; `home` is where bodies are as it stands."""
        every = range(len(names))

        def group(name: str, otherwise: Sequence[int]) -> Sequence[int]:
            found = [names.index(n) for n in robot.point_groups.get(name, ()) if n in names]
            return found or list(otherwise)

        feet = group("feet", ())
        column = names.index(anchor) if anchor in names else 0
        return cls(
            *(group("upper", every), group("lower", every), group("vr3", every), feet, column),
            standing=home.pos[0, feet, 2],
        )


@dataclass(frozen=True)
class TrackedStep:
    """What happened in a step, and what should have.

    Attributes:
        robot: whose limits count.
        which: bodies of the robot.
        state: after the step.
        bodies: after the step.
        wanted: joints and base of the reference then.
        wanted_bodies: bodies of the reference then.
        action: (n, A) of the step.
        before: (n, A) of the step before it.
        soft: share of its range that a joint may use without a penalty, by limit.
    """

    robot: Robot
    which: TrackedBodies
    state: State
    bodies: BodyStates
    wanted: State
    wanted_bodies: BodyStates
    action: np.ndarray
    before: np.ndarray
    soft: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def away(self) -> np.ndarray:
        """(n, B, 3) from where bodies should be to where they are, m."""
        return self.bodies.pos - self.wanted_bodies.pos

    @cached_property
    def distance(self) -> np.ndarray:
        """(n, B) length of it."""
        return np.linalg.norm(self.away, axis=-1)

    @cached_property
    def angle(self) -> np.ndarray:
        """(n, B) between orientations, rad."""
        return angle_between(self.bodies.quat_wxyz, self.wanted_bodies.quat_wxyz)

    @cached_property
    def gravity(self) -> np.ndarray | None:
        """(n, 3) down, seen from the root; None where it cannot move."""
        turn = self.state.base_quat_wxyz
        return None if turn is None else rotate(conj(turn), DOWN)

    @cached_property
    def relative(self) -> BodyStates:
        """The reference's bodies, moved and turned about the vertical to the robot's anchor.

        BeyondMimic's: where the robot drifted, bodies follow it; heights stay the reference's.
        """
        k = self.which.anchor
        at, want = self.bodies.pos[:, k], self.wanted_bodies.pos[:, k]
        turn = heading(mul(self.bodies.quat_wxyz[:, k], conj(self.wanted_bodies.quat_wxyz[:, k])))
        ground = np.concatenate([at[:, :2], want[:, 2:]], axis=1)
        pos = rotate(turn[:, None], self.wanted_bodies.pos - want[:, None]) + ground[:, None]
        quat = mul(turn[:, None], self.wanted_bodies.quat_wxyz)
        return BodyStates(pos, quat, self.wanted_bodies.lin_vel, self.wanted_bodies.ang_vel)

    @cached_property
    def touches(self) -> np.ndarray:
        """(n, F) feet that are on the floor."""
        return self.bodies.pos[:, self.which.feet, 2] < self.which.standing + STANDS


def heading(quat: np.ndarray) -> np.ndarray:
    """(n, 4) turn about the vertical alone."""
    w, z = quat[..., 0], quat[..., 3]
    length = np.maximum(np.hypot(w, z), 1e-9)
    none = np.zeros_like(w)
    return np.stack([w / length, none, none, z / length], axis=-1)
