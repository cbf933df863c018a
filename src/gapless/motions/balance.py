"""Feedback that keeps a robot on its feet while it follows a motion.

What an ideally stiff robot would do is the reference: its states, and the torques they need. A
linear-quadratic regulator about the standing pose corrects deviations from it: the nominal world
is linearised over one control step by finite differences, and the regulator moves the targets. It
sees what a log shows, so it also keeps a robot up that differs from its model. It cannot walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from gapless.errors import SimulationError
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.robots.rotations import conj, mul
from gapless.worlds import MujocoWorld, State, Trajectory, World

SETTLE_SECONDS = 4.0
STIFFER = 50.0
"""Gains of the reference against the robot's own: hardly any sag, and no hopping either."""
FINER = 5
"""Control steps of the reference in one of the robot's."""
FALLEN = 0.7
"""A robot whose base is below this share of its height has fallen."""
NUDGE = 1e-4
"""Size of the finite differences, rad, m, rad/s, m/s."""
FARTHEST = 0.7
"""The feedback moves a target by at most this, rad."""
UPRIGHT, STILL, POSTURE, CALM = 1000.0, 30.0, 10.0, 0.1
"""What deviations cost: of the tilt, of the base's speed, of joints, of their speeds."""


class Balance:
    """Keeps a free robot standing.

    Args:
        robot: mounted "free".
        rate: control steps per second; the robot's own by default.
        physics_step: longest physics step, s.

    Attributes:
        start: the standing pose, one environment.

    Example:
        balance = Balance(robot)
        logged, commands = balance.play(world, make("stand", robot).targets(robot, 50)[None])
    """

    def __init__(
        self, robot: Robot, rate: float | None = None, physics_step: float = 0.002
    ) -> None:
        if robot.mount != "free":
            raise SimulationError(
                f"{robot.name} is mounted {robot.mount!r}; only a robot on the floor can balance, "
                "load it with mount='free'"
            )
        # Dry friction hides small deviations from a linearisation.
        self._robot = robot.with_joints(frictionloss=0.0)
        self._world = MujocoWorld(self._robot, rate, physics_step=physics_step)
        pose = np.tile(robot.joints.default, (1, round(SETTLE_SECONDS * self._world.rate), 1))
        settled = self._reference(self._world.home(), pose)
        self.start, self._sag = settled.at(-1).start(), self._offsets(settled)[0, -1]  # type: ignore[index]
        self._gain = self._regulator()

    def _reference(self, start: State, targets: np.ndarray) -> Trajectory:
        """What a robot with hardly any sag does, and the torques it needs for it."""
        joints = self._robot.joints
        stiff = self._robot.with_joints(
            kp=STIFFER * joints.kp, kd=STIFFER**0.5 * joints.kd, effort=STIFFER * joints.effort
        )
        smooth = self._world.variant(robot=stiff, rate=FINER * self._world.rate)
        return smooth.rollout(start, _finer(targets, FINER))[:, ::FINER]  # type: ignore[index]

    def require(self, motions: Mapping[str, np.ndarray]) -> None:
        """Refuse, by name, motions ((T, J) targets) in which even a stiff robot falls."""
        fallen = [name for name, targets in motions.items() if not self._stands(targets[None])]
        if fallen:
            raise SimulationError(
                f"even a stiff {self._robot.name} does not stay on its feet in "
                f"{', '.join(fallen[:3])}{' ...' if len(fallen) > 3 else ''} ({len(fallen)} of "
                f"{len(motions)} motions); make them smaller or slower, or fix the robot's root"
            )

    def _stands(self, targets: np.ndarray) -> bool:
        played = self._reference(self.start[np.zeros(len(targets), int)], targets)
        return bool(played.valid.all() and on_its_feet(played).all())

    def _offsets(self, reference: Trajectory) -> np.ndarray:
        """How far targets must be ahead of the joints for the torques of a reference, rad."""
        torque = np.nan_to_num(reference.torque)  # type: ignore[arg-type]
        return torque / np.maximum(self._robot.joints.kp, 1e-9)

    def _regulator(self) -> np.ndarray:
        """(J, K) feedback from deviations to targets."""
        joints = len(self._robot.joints)
        size = 9 + 2 * joints
        nudges = np.concatenate([np.eye(size), np.zeros((joints, size))])
        pushes = np.concatenate([np.zeros((size, joints)), np.eye(joints)])
        ends = [self._after(sign * NUDGE * nudges, sign * NUDGE * pushes) for sign in (1, -1)]
        slope = (ends[0] - ends[1]).T / (2 * NUDGE)
        a, b = slope[:, :size], slope[:, size:]
        cost = [1.0, UPRIGHT, UPRIGHT, *[POSTURE] * joints, *[STILL] * 3, *[1.0] * 3]
        weight = np.diag([*cost, *[CALM] * joints])
        try:
            p = solve_discrete_are(a, b, weight, np.eye(joints))
        except LinAlgError as error:
            raise SimulationError(
                f"no feedback keeps {self._robot.name} standing in its default pose: {error}"
            ) from error
        return np.linalg.solve(np.eye(joints) + b.T @ p @ b, b.T @ p @ a)

    def _after(self, nudges: np.ndarray, pushes: np.ndarray) -> np.ndarray:
        """Deviations one control step after these."""
        held = self.start.q + self._sag + pushes
        start = _deviated(self.start, nudges)
        ended = self._world.rollout(start, held[:, None])[:, -1]  # type: ignore[index]
        return _deviation(ended, self.start)

    def play(
        self,
        world: World,
        targets: np.ndarray,
        conditions: Sequence[Conditions] | None = None,
    ) -> tuple[Trajectory, np.ndarray]:
        """Follow (n, T, J) targets in a world, standing.

        Returns:
            What the world shows, and the (n, T, J) commands that were given.
        """
        reference = self._reference(self.start[np.zeros(len(targets), int)], targets)
        if not reference.valid.all() or not on_its_feet(reference).all():
            self.require({f"motion {i}": targets[i] for i in range(len(targets))})
        ahead = self._offsets(reference)
        state = self.start[np.zeros(len(targets), int)]
        world.reset(state, conditions=conditions)
        seen, commands = [state], np.empty(targets.shape)
        for t in range(targets.shape[1]):
            wanted = reference[:, t]  # type: ignore[index]
            move = _deviation(state, wanted) @ self._gain.T
            # The torque of the next sample is the one that this command must give.
            given = reference.q[:, t + 1] + ahead[:, t + 1]
            commands[:, t] = given - np.clip(move, -FARTHEST, FARTHEST)
            state = world.step(commands[:, t])
            seen.append(state)
        return _trajectory(seen, world), commands


def on_its_feet(played: Trajectory) -> np.ndarray:
    """(n, T+1) whether a free robot has not fallen."""
    height = played.base_pos[..., 2]  # type: ignore[index]
    return height > FALLEN * height[:, :1]


def _finer(targets: np.ndarray, times: int) -> np.ndarray:
    """Targets between the targets, in straight lines: a stiff robot would hop on steps."""
    part = np.arange(1, times + 1)[:, None] / times
    before = np.concatenate([targets[:, :1], targets[:, :-1]], axis=1)
    mixed = before[:, :, None] + part * (targets - before)[:, :, None]
    return mixed.reshape(len(targets), -1, targets.shape[2])


def _deviation(state: State, wanted: State) -> np.ndarray:
    """(n, 9 + 2 J) height, tilt, joints, and their speeds; where the robot stands is left out."""
    turn = mul(conj(wanted.base_quat_wxyz), state.base_quat_wxyz)  # type: ignore[arg-type]
    turn = np.where(turn[:, :1] < 0, -turn, turn)
    return np.concatenate(
        [
            state.base_pos[:, 2:] - wanted.base_pos[:, 2:],  # type: ignore[index]
            2 * turn[:, 1:3],
            state.q - wanted.q,
            state.base_lin_vel_w - wanted.base_lin_vel_w,  # type: ignore[operator]
            state.base_ang_vel_b - wanted.base_ang_vel_b,  # type: ignore[operator]
            state.dq - wanted.dq,
        ],
        axis=1,
    )


def _deviated(state: State, by: np.ndarray) -> State:
    """Environments of one state, each with a deviation."""
    joints = state.q.shape[1]
    height, tilt, q, linear, angular, dq = np.split(by, np.cumsum([1, 2, joints, 3, 3]), axis=1)
    half = np.concatenate([np.ones_like(height), tilt / 2, np.zeros_like(height)], axis=1)
    up = np.concatenate([np.zeros((len(by), 2)), height], axis=1)
    return State(
        q=state.q + q,
        dq=state.dq + dq,
        base_pos=state.base_pos + up,  # type: ignore[operator]
        base_quat_wxyz=mul(state.base_quat_wxyz, half / np.linalg.norm(half, axis=1)[:, None]),  # type: ignore[arg-type]
        base_lin_vel_w=state.base_lin_vel_w + linear,
        base_ang_vel_b=state.base_ang_vel_b + angular,
    )


def _trajectory(seen: list[State], world: World) -> Trajectory:
    """Steps in a row as one trajectory, not valid from when an environment diverged."""
    time = np.arange(len(seen)) / world.rate
    at = np.where(world.health.diverged, world.health.at, np.inf)
    return Trajectory.over_time(seen, time <= at[:, None])
