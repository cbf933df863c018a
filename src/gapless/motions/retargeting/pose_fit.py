"""The second step: poses over time that bring a robot's points where the person's are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from gapless.errors import MissingExtraError
from gapless.motions.limits import position_limits
from gapless.progress import ProgressReporter
from gapless.robots import Robot
from gapless.robots.build import HOME, compile_spec
from gapless.robots.joints import TrackingPoint

POSTURE = 0.002
"""Weight of the default pose, m/rad: it decides what keypoints leave open."""
CALM = 0.002
"""Weight of the pose before, m/rad: what keypoints hardly decide does not wander."""
ROOM = 0.005
"""Share of each joint's range that stays unused at either end."""
FASTEST = 0.9
"""Share of each joint's speed limit that is used."""
STEPS, FIRST_STEPS = 10, 100
"""Most iterations for a frame, and for the first one."""
SETTLED = 1e-3
"""A pose that moves less than this in an iteration, rad and m, is found."""
DAMPING, LONGEST = 3e-3, 0.5
"""What keeps an iteration small where keypoints decide little, m²/rad², and its longest, rad: a
straight leg may turn about itself, and would do so without end."""


@dataclass(frozen=True, eq=False)
class PoseTargets:
    """What is asked of every frame.

    Attributes:
        places: (T, P, 3) of the points, m.
        weights: (T, P) of them.
        turns: (T, L, 4) of the links, wxyz.
        turn_weights: (T, L) of them, m/rad; 0 asks nothing.
    """

    places: np.ndarray
    weights: np.ndarray
    turns: np.ndarray
    turn_weights: np.ndarray

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True, eq=False)
class FittedPoses:
    """(T, J) joints, (T, 3) and (T, 4) base of a robot, as a motion has them."""

    q: np.ndarray
    base_pos: np.ndarray
    base_quat_wxyz: np.ndarray


class PoseFit:
    """Inverse kinematics of a whole robot, frame after frame, within its limits.

    Args:
        robot: mounted "free".
        points: whose places are asked for.
        links: whose orientations are asked for.
    """

    def __init__(self, robot: Robot, points: Sequence[TrackingPoint], links: Sequence[str]) -> None:
        if find_spec("mink") is None:
            raise MissingExtraError("mink", "motions", "retargeting")
        import mink

        from gapless.motions.retargeting.keypoint_task import KeypointTask

        self._robot, self._model = robot, compile_spec(robot.spec())
        self._hinges = np.array([self._model.joint(name).id for name in robot.joints.names])
        self._places = self._model.jnt_qposadr[self._hinges]
        self._low, self._high = position_limits(robot, ROOM)
        self._model.jnt_limited[self._hinges] = 1
        self._home = self._model.key(HOME).qpos.copy()
        self._task = KeypointTask(self._model, points, links)
        self._calm = mink.PostureTask(self._model, CALM)
        self._limit = mink.ConfigurationLimit(self._model)
        self._configuration = mink.Configuration(self._model, self._home)
        self._base = self._model.jnt_qposadr[self._model.body(robot.root).jntadr[0]]

    def follow(
        self,
        targets: PoseTargets,
        rate: float,
        start: FittedPoses,
        reporter: ProgressReporter | None = None,
        posture: float = POSTURE,
        damping: float = DAMPING,
    ) -> FittedPoses:
        """Poses of all frames, each found from the one before.

        Args:
            targets: what is asked for.
            rate: frames per second, for the joints' speeds.
            start: the pose from which the first is searched, one frame.
            reporter: told how far it is.
            posture: weight of the default pose, m/rad.
            damping: what keeps iterations small, m²/rad².
        """
        import mink

        self._configuration.update(self._full(start))
        self._posture = mink.PostureTask(self._model, posture)
        self._posture.set_target(self._home)
        step = FASTEST * np.where(self._speed > 0, self._speed, np.inf) / rate
        found = np.empty((len(targets), self._model.nq))
        for t in range(len(targets)):
            self._allow(None if t == 0 else found[t - 1], step)
            self._ask(targets, t)
            found[t] = self._solve(*((FIRST_STEPS, 1e-5) if t == 0 else (STEPS, SETTLED)), damping)
            if reporter is not None:
                reporter.tell(t + 1)
        base = found[:, self._base : self._base + 7]
        return FittedPoses(found[:, self._places], base[:, :3], base[:, 3:])

    @property
    def _speed(self) -> np.ndarray:
        return self._robot.joints.velocity

    def _full(self, pose: FittedPoses) -> np.ndarray:
        full = self._home.copy()
        full[self._places] = np.clip(pose.q[0], self._low, self._high)
        full[self._base : self._base + 7] = [*pose.base_pos[0], *pose.base_quat_wxyz[0]]
        return full

    def _allow(self, before: np.ndarray | None, step: np.ndarray) -> None:
        """Limits of the joints, and how far their speeds let them go from the frame before."""
        low, high = self._low, self._high
        if before is not None:
            q = before[self._places]
            low, high = np.maximum(low, q - step), np.minimum(high, q + step)
        self._limit.lower[self._places], self._limit.upper[self._places] = low, high

    def _ask(self, targets: PoseTargets, t: int) -> None:
        self._task.places, self._task.weights = targets.places[t], targets.weights[t]
        self._task.turns, self._task.turn_weights = targets.turns[t], targets.turn_weights[t]
        self._calm.set_target(self._configuration.q)

    def _solve(self, steps: int, settled: float, damping: float) -> np.ndarray:
        import mink

        tasks = [self._task, self._posture, self._calm]
        for _ in range(steps):
            move = mink.solve_ik(
                self._configuration, tasks, 1.0, "daqp", damping, limits=[self._limit]
            )
            move *= min(1.0, LONGEST / max(np.abs(move).max(), 1e-9))
            self._configuration.integrate_inplace(move, 1.0)
            if np.abs(move).max() < settled:
                break
        return self._configuration.q.copy()
