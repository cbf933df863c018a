"""MotionFrames: a motion as a tracker follows it: bodies and their velocities at a rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.errors import DataError
from gapless.motions.motion import Motion
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics, BodyStates
from gapless.robots.rotations import conj, mul, normalise, rotation_vector
from gapless.worlds.world import State

SHORTEST = 0.2
"""Seconds below which there is nothing to track."""


@dataclass(frozen=True, eq=False)
class MotionFrames:
    """A motion of one robot on the clock of its controller.

    Attributes:
        name: of the motion.
        rate: frames per second.
        state: (T, ...) joints and base with their velocities, as a world takes them.
        bodies: (T, B, ...) the robot's tracking points.
        names: of the bodies.
        joints: of the state, the robot's.
    """

    name: str
    rate: float
    state: State
    bodies: BodyStates
    names: tuple[str, ...]
    joints: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.state)

    @property
    def seconds(self) -> float:
        """Time from the first to the last frame."""
        return (len(self) - 1) / self.rate

    @classmethod
    def of(
        cls,
        motion: Motion,
        robot: Robot,
        rate: float | None = None,
        kinematics: BodyKinematics | None = None,
    ) -> MotionFrames:
        """The frames of a motion.

        Args:
            motion: at any rate; of a free robot it must say where its base is.
            robot: whose joints, by name, and whose tracking points.
            rate: frames per second; the robot's control rate by default.
            kinematics: of the robot, where there is one already.

        Raises:
            DataError: the motion is too short, or says nothing of the base.
        """
        rate = float(rate or robot.rate)
        if motion.seconds < SHORTEST:
            raise DataError(
                f"motion {motion.name!r} lasts {motion.seconds:.2f} s; a tracker needs {SHORTEST} s"
            )
        state = _state(motion.resampled(rate), robot)
        bodies = kinematics or BodyKinematics(robot)
        joints = robot.joints.names
        return cls(motion.name, rate, state, bodies.states(state), bodies.names, joints)


def _state(motion: Motion, robot: Robot) -> State:
    """Positions of a motion, and velocities as differences over two frames."""
    q, rate = motion.targets(robot), motion.rate
    dq = np.gradient(q, axis=0) * rate
    if robot.mount != "free":
        return State(q, dq)
    pos, quat = motion.base_pos, motion.base_quat_wxyz
    if pos is None or quat is None:
        raise DataError(
            f"motion {motion.name!r} does not say where the base is, which a {robot.name} on its "
            "feet is asked to follow; give a motion with a base"
        )
    quat = normalise(quat)  # files round it, and bodies would be stretched by it
    return State(q, dq, pos, quat, np.gradient(pos, axis=0) * rate, _spin(quat, rate))


def _spin(quat: np.ndarray, rate: float) -> np.ndarray:
    """(T, 3) angular velocities in the root's own frame, over two frames where there are two."""
    before, after = np.maximum(np.arange(len(quat)) - 1, 0), np.arange(len(quat)) + 1
    after = np.minimum(after, len(quat) - 1)
    turned = rotation_vector(mul(conj(quat[before]), quat[after]))
    return turned * (rate / (after - before))[:, None]
