"""Cleaning by physics: a motion is kept, repaired or rejected, as a simulated robot can do it.

What cannot be asked for at all (limits, the floor) is rejected at once. The rest is tried: from
the first frame on, the robot's own drives are given the motion plus small corrections of the
targets, which are sampled, simulated a little ahead, and chosen by how near the robot stays; no
policy is trained. The search sees the future and the true state, so what falls here is hard for
any policy; what stays up is not yet easy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.trackability import check_trackability
from gapless.progress import ProgressReporter, Watch
from gapless.robots import Robot
from gapless.robots.body_states import BodyKinematics
from gapless.robots.rotations import angle_between
from gapless.worlds import MujocoWorld, State

AHEAD, DONE, KNOTS = 0.4, 0.1, 4
"""Seconds that are simulated ahead and then done, and corrections that a stretch ahead has."""
SAMPLES, ELITE, ROUNDS, SIZE = 64, 8, 3, 0.06
"""Sampled corrections, how many of the best are averaged, how often, and their deviation, rad."""
KEPT, REPAIRED = 0.06, 0.12
"""Mean distance of the bodies from the motion, m, up to which it is kept as it is, and up to which
what the robot did is still that motion."""
LOW, TILTED = 0.3, 1.0
"""A base so far below the motion's, m, or turned so far from it, rad, has fallen."""
STEP = 0.005
"""Longest physics step, s."""
FULL, DAMPED = 0.3, 0.04
"""Error at which drives give all their torque, rad, and their damping over stiffness, s. A policy
may command any target, so torque limits bind it, not gains."""


@dataclass(frozen=True, eq=False)
class Cleaned:
    """What became of a motion.

    Attributes:
        verdict: kept, repaired or rejected.
        reason: why.
        motion: as it was; of a repaired one what the simulated robot did instead.
        distance: mean distance of the bodies from the motion in the simulator, m; None where it
            was not tried.
    """

    verdict: str
    reason: str
    motion: Motion
    distance: float | None = None

    def __str__(self) -> str:
        return f"{self.motion.name} is {self.verdict}: {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"verdict": self.verdict, "reason": self.reason, "distance_m": self.distance}


def clean_motion(
    motion: Motion, robot: Robot, *, seed: int = 0, watch: Watch | None = None
) -> Cleaned:
    """Ask of a motion whether a simulated robot can do it.

    Args:
        motion: with a base.
        robot: fitted on its feet, however it is mounted.
        seed: of the sampled corrections.
        watch: told how far it is.
    """
    free = robot.with_mount("free")
    wrong = [c for c in check_trackability(motion, free).checks if c.fatal and not c.ok]
    if wrong:
        return Cleaned("rejected", "; ".join(map(str, wrong)), motion)
    frames = MotionFrames.of(motion, free)
    states = _Try(free, frames, seed).states(watch)
    if len(states) < len(frames):
        at = (len(states) - 1) / frames.rate
        return Cleaned("rejected", f"the simulated robot falls at {at:.2f} s", motion)
    bodies = BodyKinematics(free).states(states)
    distance = float(np.linalg.norm(bodies.pos - frames.bodies.pos, axis=-1).mean())
    told = f"the simulated robot stays {1000 * distance:.0f} mm from it on average"
    if distance <= KEPT:
        return Cleaned("kept", told, motion, distance)
    if distance > REPAIRED:
        return Cleaned("rejected", told, motion, distance)
    return _repaired(motion, free, states, frames.rate, distance, told)


def _repaired(
    motion: Motion, robot: Robot, states: State, rate: float, distance: float, told: str
) -> Cleaned:
    """What the robot did in place of the motion, if that can be asked for."""
    base, quat = states.base_pos, states.base_quat_wxyz
    same = motion.resampled(rate)
    done = replace(same, joints=robot.joints.names, q=states.q, base_pos=base, base_quat_wxyz=quat)
    wrong = [c for c in check_trackability(done, robot).checks if c.fatal and not c.ok]
    if wrong:
        return Cleaned("rejected", f"{told}, and does: {wrong[0]}", motion, distance)
    return Cleaned("repaired", f"{told}; what it did takes its place", done, distance)


class _Try:
    """One robot that is led through a motion by sampled corrections."""

    def __init__(self, robot: Robot, frames: MotionFrames, seed: int) -> None:
        self._world = MujocoWorld(_strong(robot), frames.rate, physics_step=STEP)
        self._frames, self._rng = frames, np.random.default_rng(seed)
        self._ahead, self._done = (max(round(s * frames.rate), 1) for s in (AHEAD, DONE))
        self._mean = np.zeros((KNOTS, len(robot.joints)))

    def states(self, watch: Watch | None) -> State:
        """(T, ...) where the robot was; shorter where it fell."""
        total = len(self._frames)
        reporter = ProgressReporter(watch, "trying", total)
        found = [self._frames.state[:1]]
        at = 0
        while at < total - 1:
            steps = min(self._done, total - 1 - at)
            played = self._stretch(found[-1][-1:], at)[1 : steps + 1]
            found.append(played)
            at += steps
            if self._fallen(played[-1:], at):
                break
            reporter.tell(at)
        return State.concatenate([_start(part) for part in found])

    def _stretch(self, start: State, at: int) -> State:
        """(H+1, ...) the best that was found for the next moments."""
        rows = np.minimum(at + 1 + np.arange(self._ahead), len(self._frames) - 1)
        asked = self._frames.state[rows]
        best: tuple[float, State] | None = None
        self._mean = np.concatenate([self._mean[1:], self._mean[-1:]])
        for k in range(ROUNDS):
            noise = self._rng.normal(0.0, SIZE / (1 + k), (SAMPLES, *self._mean.shape))
            noise[0] = 0.0
            tried = self._mean + noise
            played = self._world.rollout(
                start[np.zeros(SAMPLES, int)], asked.q + self._spread(tried)
            )
            costs = self._costs(played, asked)
            order = np.argsort(costs)
            self._mean = tried[order[:ELITE]].mean(axis=0)
            if best is None or costs[order[0]] < best[0]:
                best = float(costs[order[0]]), _start(played[int(order[0])])  # type: ignore[index]
        assert best is not None
        return best[1]

    def _spread(self, knots: np.ndarray) -> np.ndarray:
        """(n, H, J) corrections between (n, K, J) knots, in straight lines."""
        place = np.linspace(0, KNOTS - 1, self._ahead)
        left = np.minimum(place.astype(int), KNOTS - 2)
        share = (place - left)[None, :, None]
        return (1 - share) * knots[:, left] + share * knots[:, left + 1]

    def _costs(self, played: Any, asked: Any) -> np.ndarray:
        """(n,) how far robots are from what is asked; a broken simulation is never chosen."""
        joints = np.square(played.q[:, 1:] - asked.q).mean(axis=(1, 2))
        base = np.square(played.base_pos[:, 1:] - asked.base_pos).sum(axis=2).mean(axis=1)
        turn = np.square(angle_between(played.base_quat_wxyz[:, 1:], asked.base_quat_wxyz))
        speed = np.square(played.base_lin_vel_w[:, 1:] - asked.base_lin_vel_w).sum(axis=2)
        cost = joints + 10 * base + 3 * turn.mean(axis=1) + 0.1 * speed.mean(axis=1)
        return np.where(played.valid.all(axis=1) & np.isfinite(cost), cost, np.inf)

    def _fallen(self, state: State, at: int) -> bool:
        asked = self._frames.state[at : at + 1]
        low = asked.base_pos[0, 2] - state.base_pos[0, 2] > LOW  # type: ignore[index]
        turned = angle_between(state.base_quat_wxyz, asked.base_quat_wxyz)[0] > TILTED  # type: ignore[arg-type]
        return bool(low or turned or not np.isfinite(state.q).all())


def _strong(robot: Robot) -> Robot:
    """The robot with drives that use their torque, on feet of few contacts."""
    joints = robot.joints
    known = np.isfinite(joints.effort) & (joints.effort > 0)
    kp = np.where(known, np.maximum(joints.kp, joints.effort / FULL), joints.kp)
    kd = np.where(known, np.maximum(joints.kd, DAMPED * kp), joints.kd)
    return robot.with_joints(kp=kp, kd=kd).with_simple_feet()


def _start(state: State) -> State:
    """Only what a world can be put into."""
    return state.start()
