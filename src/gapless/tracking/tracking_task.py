"""TrackingTask: episodes in which a policy follows a motion, in any World."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gapless.learning.episode_task import Command, Start
from gapless.motions.motion_frames import MotionFrames
from gapless.policies.action_targets import action_targets, clip_action
from gapless.policies.observer import Observer
from gapless.policies.policy_contract import PolicyContract
from gapless.policies.reference import Reference, ReferenceMotion
from gapless.policies.terms import Sighting
from gapless.recordings.conditions import Conditions
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics, BodyStates
from gapless.robots.rotations import conj, mul, rotate
from gapless.tracking.curricula import Curricula
from gapless.tracking.reference_starts import ReferenceStarts, StartNoise
from gapless.tracking.tracked_step import TrackedBodies, TrackedStep, heading
from gapless.tracking.tracking_contract import require_trackable
from gapless.tracking.tracking_rewards import reward
from gapless.worlds.world import State

TILTED = 0.8
"""Gravity along x or y of the root, at which an episode ends: ASAP's."""
FELL = -200.0
"""What the end by a fall is worth, before the control step is multiplied in."""
PAST = 5
"""Moments of the base's velocity that the critic sees."""


@dataclass(frozen=True)
class SensorNoise:
    """ASAP's noise of what a policy sees, each uniform within plus and minus.

    Attributes:
        spin: of the gyroscope, rad/s.
        tilt: of gravity.
        joint: rad.
        joint_speed: rad/s.
    """

    spin: float = 0.3
    tilt: float = 0.2
    joint: float = 0.01
    joint_speed: float = 1.0


class TrackingTask:
    """A motion as the task of n environments; see `EpisodeTask`.

    Args:
        frames: of the motion.
        robot: that follows it.
        contract: what the policy sees and commands.
        weights: of the rewards, by name.
        environments: how many.
        curricula: how far bodies may be off, and how much penalties count.
        starts: noise around the reference at the start.
        where: episodes begin; see `ReferenceStarts`.
        sensors: noise of what the policy sees; None is none.
        push: speed given to the base at once, m/s.
        push_every: seconds between pushes, on average.
        action_noise: rad, uniform within plus and minus, added to targets: ASAP's baseline.
        truth: the state as it is, of what the sensors say; rewards and the critic look at it.
        missed: (T, B, 3) from where the simulator takes bodies to where the robot took them, m:
            they shall be so far from the motion here, from where an episode began on, as to be on
            it there.
        seed: of everything drawn.
    """

    decimation = 1

    def __init__(
        self,
        frames: MotionFrames,
        robot: Robot,
        contract: PolicyContract,
        weights: dict[str, float],
        environments: int,
        *,
        curricula: Curricula | None = None,
        starts: StartNoise | None = None,
        where: str = "anywhere",
        sensors: SensorNoise | None = None,
        push: float = 0.0,
        push_every: float = 10.0,
        action_noise: float = 0.0,
        truth: Callable[[State], State] = lambda seen: seen,
        missed: np.ndarray | None = None,
        seed: int = 0,
    ) -> None:
        require_trackable(contract, robot, push)
        self._truth = truth
        self._missed = np.zeros_like(frames.bodies.pos) if missed is None else missed
        self.frames, self.robot, self.contract, self.weights = frames, robot, contract, weights
        self.curricula = curricula or Curricula()
        self.starts = ReferenceStarts(frames, robot, starts or StartNoise().scaled(0), where)
        self._sensors, self._noise, self._seed = sensors, action_noise, seed
        self._push, self._push_chance = push, 1 / max(1.0, push_every * frames.rate)
        self._kinematics = BodyKinematics(robot)
        home = self._kinematics.states(_standing(robot))
        self._which = TrackedBodies.of(robot, frames.names, contract.anchor, home)
        self._moved, self._rest = robot.joints.pick(contract.joints), robot.joints.default.copy()
        self._rest[robot.joints.pick(contract.hold)] = list(contract.hold.values())
        self.reference = reference_motion(frames, self._moved, self._which.anchor)
        self._observer = Observer(contract, environments)
        self._told = gains_of(contract, robot)
        self._columns = {name: i for i, name in enumerate(robot.joints.names)}
        self.num_actions = len(contract.joints)
        self.max_episode_length = len(frames) - 1
        self._environments = environments
        self.renew(0)

    def renew(self, draw: int) -> np.random.Generator:
        """Forget all episodes."""
        n = self._environments
        self._rng = np.random.default_rng([self._seed, draw])
        self._frame, self._age, self._begun = np.zeros((3, n), int)
        self._action, self._before = np.zeros((2, n, self.num_actions))
        self._targets = np.tile(self._rest, (n, 1))
        self._velocities = np.zeros((n, PAST, 3))
        self._seen, self.distance = np.zeros((n, self.contract.width)), np.zeros(n)
        self._bodies: BodyStates | None = None
        self._observer.forget()
        self._fell = self._over = np.zeros(n, bool)
        self._figures: dict[str, float] = {}
        return self._rng

    def begin(self, rows: np.ndarray) -> Start:
        """Draw where in the motion episodes begin, and states near it."""
        at = self.starts.frames(len(rows), self._rng)
        self._frame[rows], self._begun[rows], self._age[rows] = at, at, 0
        self._action[rows], self._before[rows] = 0.0, 0.0
        self._observer.forget(rows)
        self._velocities[rows] = 0.0
        state = self.starts.states(at, self._rng)
        self._targets[rows] = self._rest
        self._targets[np.ix_(rows, np.array(self._moved))] = state.q[:, self._moved]
        return Start(state, None if self._told is None else [self._told] * len(rows))

    def look(self, state: State, fresh: np.ndarray) -> None:
        """Take in the present state; bodies are computed anew only where episodes began."""
        if self._bodies is None or fresh.all():
            self._true, self._bodies = state, self._kinematics.states(state)
        elif fresh.any():
            begun, known = self._kinematics.states(state[fresh].start()), self._bodies
            for name, array in vars(begun).items():
                getattr(known, name)[fresh] = array
            self._true = self._true.with_rows(fresh, state[fresh])
        sight = Sighting(
            readings=self._sensed(state),  # type: ignore[arg-type]
            columns=self._columns,
            action=self._action,
            target=self._targets[:, self._moved],
            step=self._frame,
            commands={},
            reference=self.reference.at(self._frame),
            anchor=self._anchor(),
        )
        self._seen = self._observer.observe(sight)

    def _anchor(self) -> tuple[np.ndarray, np.ndarray]:
        assert self._bodies is not None
        k = self._which.anchor
        return self._bodies.pos[:, k], self._bodies.quat_wxyz[:, k]

    def _sensed(self, state: State) -> State:
        """What the sensors say."""
        noise = self._sensors
        if noise is None:
            return state

        def off(array: np.ndarray, size: float) -> np.ndarray:
            return array + self._rng.uniform(-size, size, array.shape)

        seen = replace(state, q=off(state.q, noise.joint), dq=off(state.dq, noise.joint_speed))
        if state.base_quat_wxyz is None or state.base_ang_vel_b is None:
            return seen
        half = 0.5 * self._rng.uniform(-noise.tilt, noise.tilt, (len(state), 3))
        turn = np.concatenate([np.ones((len(state), 1)), half], axis=1)
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        spin = off(state.base_ang_vel_b, noise.spin)
        return replace(seen, base_quat_wxyz=mul(state.base_quat_wxyz, turn), base_ang_vel_b=spin)

    @property
    def observed(self) -> np.ndarray:
        """(n, width) what the policy sees now."""
        return self._seen

    def observations(self) -> dict[str, np.ndarray]:
        """What the policy sees, and what only the critic does."""
        return {"policy": self._seen, "privileged": self._privileged()}

    def _privileged(self) -> np.ndarray:
        """Base velocities, the way of each body to its reference, and the reference's bodies."""
        assert self._bodies is not None
        wanted, n = self._wanted.pos, self._environments
        if self._true.base_quat_wxyz is None:
            away = wanted - self._bodies.pos
            return np.concatenate([away.reshape(n, -1), wanted.reshape(n, -1)], axis=1)
        back = conj(heading(self._true.base_quat_wxyz))
        self._velocities[:, 1:] = self._velocities[:, :-1]
        self._velocities[:, 0] = 2 * rotate(back, self._true.base_lin_vel_w)  # type: ignore[arg-type]
        root = self._true.base_pos
        away = rotate(back[:, None], wanted - self._bodies.pos)
        there = rotate(back[:, None], wanted - root[:, None])  # type: ignore[index]
        parts = (self._velocities, away, there)
        return np.concatenate([part.reshape(n, -1) for part in parts], axis=1)

    def command(self, actions: np.ndarray, first: bool) -> Command:
        """What (n, A) actions command."""
        del first
        self._before, self._action = self._action, clip_action(self.contract, actions)
        last, now = self._targets[:, self._moved], self.reference.at(self._frame)
        self._targets = self._targets.copy()
        self._targets[:, self._moved] = action_targets(self.contract, self._action, last, now)
        sent = self._targets
        if self._noise:
            sent = sent + self._rng.uniform(-self._noise, self._noise, sent.shape)
        return Command(sent, push=self._pushes())

    def _pushes(self) -> np.ndarray | None:
        if not self._push:
            return None
        hit = self._rng.random(self._environments) < self._push_chance
        angle = self._rng.uniform(0, 2 * np.pi, self._environments)
        way = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
        return self._push * way * hit[:, None]

    def reward(self, state: State, lost: np.ndarray) -> np.ndarray:
        """Of the step that led to a state; the curricula advance."""
        self._frame, self._age = self._frame + 1, self._age + 1
        whole = _finite(self._truth(state), self.frames.state[self._frame], lost)
        self._true, self._bodies = whole, self._kinematics.states(whole)
        step = TrackedStep(
            *(self.robot, self._which, whole, self._bodies),
            wanted=self.frames.state[self._frame],
            wanted_bodies=self._wanted,
            action=self._action,
            before=self._before,
            soft=self.curricula.soft,
        )
        self._judge(step, lost)
        gained = reward(step, self.weights, self.curricula.penalties) + FELL * self._fell
        return gained / self.frames.rate

    def _judge(self, step: TrackedStep, lost: np.ndarray) -> None:
        """Who fell, whose motion is over, and what is worth logging."""
        self.distance = step.distance.mean(axis=1)
        far = step.distance.max(axis=1) > self.curricula.distance
        gravity = step.gravity
        tipped = far if gravity is None else (np.abs(gravity[:, :2]) > TILTED).any(axis=1)
        self._fell = far | tipped | lost
        self._over = self._frame >= len(self.frames) - 1
        ended = self._fell | self._over
        # An episode that came to its end from a late start says nothing of how long they last.
        whole = np.where(self._fell, self._age, np.maximum(self._age, self.curricula.target + 1))
        self.curricula.advance(whole[ended])
        self.starts.note(self._frame[self._fell])
        self._figures = {
            "error_mm": 1000 * float(step.distance[~lost].mean()) if not lost.all() else np.nan,
            "length": self.curricula.length,
            "distance": self.curricula.distance,
            "penalties": self.curricula.penalties,
        }

    @property
    def _wanted(self) -> BodyStates:
        """Where bodies should be now."""
        motion = self.frames.bodies[self._frame]
        return replace(
            motion, pos=motion.pos - self._missed[self._frame] + self._missed[self._begun]
        )

    @property
    def offsets(self) -> np.ndarray:
        """(n, B, 3) of bodies from where they should be now, m."""
        assert self._bodies is not None
        return self._bodies.pos - self._wanted.pos

    def terminated(self) -> np.ndarray:
        """(n,) that fell, or strayed too far."""
        return self._fell

    def expired(self) -> np.ndarray:
        """(n,) whose motion is over."""
        return self._over & ~self._fell

    def figures(self) -> Mapping[str, float]:
        """Mean distance of bodies, mean length of episodes, and the curricula."""
        return self._figures

    def arrays(self) -> dict[str, np.ndarray]:
        """What lasts longer than a round, for a training that resumes."""
        return self.curricula.arrays() | self.starts.arrays()

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Inverse of `arrays`."""
        self.curricula.restore(arrays)
        self.starts.restore(arrays)


def reference_motion(frames: MotionFrames, moved: list[int], anchor: int) -> ReferenceMotion:
    """The motion as the policy sees it: its joints in its order, and its anchor."""
    return ReferenceMotion(
        Reference(
            frames.state.q[:, moved],
            frames.state.dq[:, moved],
            frames.bodies.pos[:, anchor],
            frames.bodies.quat_wxyz[:, anchor],
        )
    )


def gains_of(contract: PolicyContract, robot: Robot) -> Conditions | None:
    """The policy's gains, where they are not the robot's own; drives make of them what they do."""
    asked, joints = contract.gains, robot.joints
    own = {j: (joints.kp[joints.index(j)], joints.kd[joints.index(j)]) for j in asked}
    same = all(np.allclose(asked[j], own[j]) for j in asked)
    return None if same and not robot.gain_errors else Conditions(gains=dict(asked))


def _standing(robot: Robot) -> State:
    """The default pose at rest, on the floor."""
    joints = robot.joints
    q = joints.default[None]
    if robot.mount != "free":
        return State(q, np.zeros_like(q))
    place = np.array([[0.0, 0.0, robot.standing_height]])
    none = np.zeros((1, 3))
    return State(q, np.zeros_like(q), place, np.array([[1.0, 0.0, 0.0, 0.0]]), none, none)


def _finite(state: State, instead: State, lost: np.ndarray) -> State:
    """Diverged rows as the reference, so that no reward is NaN; their episodes end."""
    if not lost.any():
        return state
    rows = np.flatnonzero(lost)
    return state.with_rows(rows, replace(instead[rows], torque=np.zeros_like(instead.q[rows])))
