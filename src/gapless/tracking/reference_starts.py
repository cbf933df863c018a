"""Where episodes of a tracker begin: anywhere in its motion, a little off it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.errors import unknown
from gapless.motions.motion_frames import MotionFrames
from gapless.robots import Robot
from gapless.robots.rotations import mul
from gapless.worlds.world import State

BIN = 1.0
"""Seconds of a stretch of the motion."""
UNIFORM = 0.1
"""Share of starts that are drawn anywhere, however hard a stretch is: BeyondMimic's."""
FORGETS = 0.001
"""Weight of a step's falls in what is known of a stretch."""
KERNEL, DECAY = 3, 0.8
"""A fall says something of the stretches before it, too: how many, and how much less each."""


PLACES = ("anywhere", "failures", "first")


@dataclass(frozen=True)
class StartNoise:
    """ASAP's noise of level 1, each uniform within plus and minus.

    Attributes:
        joint: rad.
        joint_speed: rad/s.
        place: of the base, m.
        turn: of the base, rad.
        speed: of the base, m/s.
        spin: of the base, rad/s.
    """

    joint: float = 0.1
    joint_speed: float = 0.15
    place: float = 0.05
    turn: float = 0.17
    speed: float = 0.01
    spin: float = 0.01

    def scaled(self, level: float) -> StartNoise:
        """The same, so many times as large."""
        return StartNoise(**{name: level * value for name, value in vars(self).items()})


class ReferenceStarts:
    """Draws frames of a motion and states near them.

    Args:
        frames: of the motion.
        robot: whose joint limits no start leaves.
        noise: around the reference.
        where: "anywhere" alike, "failures" (more often where episodes fail: BeyondMimic), or
            "first" (at the first frame).
    """

    def __init__(
        self, frames: MotionFrames, robot: Robot, noise: StartNoise, where: str = "anywhere"
    ) -> None:
        if where not in PLACES:
            raise unknown("place to start", where, PLACES)
        self._frames, self._robot, self._noise, self._where = frames, robot, noise, where
        self._last = len(frames) - 1
        self._bins = max(1, int(np.ceil(frames.seconds / BIN)))
        self.failures = np.zeros(self._bins)

    def frames(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(k,) frames to begin at; never the last."""
        if self._where == "first":
            return np.zeros(count, int)
        if self._where == "anywhere":
            return rng.integers(0, self._last, count)
        chosen = rng.choice(self._bins, count, p=self.chances)
        within = rng.uniform(0, 1, count)
        return np.minimum(((chosen + within) / self._bins * self._last).astype(int), self._last - 1)

    @property
    def chances(self) -> np.ndarray:
        """Of a start in each stretch."""
        ahead = np.pad(self.failures, (0, KERNEL - 1), mode="edge")
        weights = DECAY ** np.arange(KERNEL)
        hard = np.array([ahead[i : i + KERNEL] @ weights for i in range(self._bins)])
        mixed = hard / max(hard.sum(), 1e-9) + UNIFORM / self._bins
        return mixed / mixed.sum()

    def note(self, failed: np.ndarray) -> None:
        """Take in the frames at which episodes failed in a step."""
        places = np.minimum(failed * self._bins // max(self._last, 1), self._bins - 1)
        count = np.bincount(places, minlength=self._bins)
        self.failures += FORGETS * (count - self.failures)

    def states(self, at: np.ndarray, rng: np.random.Generator) -> State:
        """States near the reference at (k,) frames."""
        state, noise, joints = self._frames.state[at].start(), self._noise, self._robot.joints

        def off(array: np.ndarray | None, size: float) -> np.ndarray | None:
            return None if array is None else array + rng.uniform(-size, size, array.shape)

        q = off(state.q, noise.joint)
        assert q is not None
        inside = np.clip(q, joints.lower, joints.upper) if noise.joint else q
        moved = replace(state, q=inside, dq=off(state.dq, noise.joint_speed))
        if state.base_quat_wxyz is None:
            return moved
        half = 0.5 * rng.uniform(-noise.turn, noise.turn, (len(at), 3))
        turn = np.concatenate([np.ones((len(at), 1)), half], axis=1)
        turn = mul(state.base_quat_wxyz, turn / np.linalg.norm(turn, axis=1, keepdims=True))
        place = off(state.base_pos, noise.place)
        assert place is not None and state.base_pos is not None
        place[:, 2] = state.base_pos[:, 2] + np.abs(place[:, 2] - state.base_pos[:, 2])
        return replace(
            moved,
            base_pos=place,
            base_quat_wxyz=turn,
            base_lin_vel_w=off(state.base_lin_vel_w, noise.speed),
            base_ang_vel_b=off(state.base_ang_vel_b, noise.spin),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """What a resumed training needs."""
        return {"failures": self.failures.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Inverse of `arrays`."""
        self.failures = np.array(arrays["failures"], float)
