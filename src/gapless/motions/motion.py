"""A Motion: joint positions over time, by name, that a robot may be asked to follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation, Slerp

from gapless.errors import DataError
from gapless.robots import Robot
from gapless.robots.matching import match

CAREFUL = 0.5
"""Share of a joint's speed limit that a move to or from the default pose may use."""
PEAK = 1.875
"""Highest speed of a minimum-jerk move over its mean speed."""

SLOWEST = 0.01
"""Samples a second below which a unit was mistaken."""

FARTHEST = 1e6
"""rad and m: beyond, no motion of anything is meant, and slopes are no numbers."""
UNIT = 0.01
"""A quaternion's length may differ from one by this much."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Absolute joint positions on a uniform clock.

    Attributes:
        name: of the motion; recordings of it carry this name.
        joints: joint names, in column order.
        rate: samples per second.
        q: (T, J) positions, rad.
        base_pos: (T, 3) root position in the world, m; None where the motion says nothing of it.
        base_quat_wxyz: (T, 4) root orientation.
        source: the file or the function with its options, for people.
        person: keypoint -> (T, 3) where the person was whose motion it is, m; empty for others.
    """

    name: str
    joints: tuple[str, ...]
    rate: float
    q: np.ndarray
    base_pos: np.ndarray | None = None
    base_quat_wxyz: np.ndarray | None = None
    source: str = ""
    person: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("q", "base_pos", "base_quat_wxyz"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.array(getattr(self, name), float))
        problems = list(self._problems())
        if problems:
            raise DataError(f"motion {self.name!r}: " + "; ".join(problems))

    def _problems(self) -> Iterator[str]:
        expected = {"q": len(self.joints), "base_pos": 3, "base_quat_wxyz": 4}
        if not SLOWEST <= self.rate < np.inf:
            yield f"rate is {self.rate}, expected samples per second, {SLOWEST} or more"
            return
        if len(set(self.joints)) != len(self.joints):
            yield "a joint is named twice"
        if len(self.q) < 2:
            yield f"it has {len(self.q)} samples, at least two are needed"
        for part, width in expected.items():
            array = getattr(self, part)
            if array is None:
                continue
            if array.shape != (len(self.q), width):
                yield f"{part} has shape {array.shape}, expected {(len(self.q), width)}"
            elif not (np.abs(array) < FARTHEST).all():
                row, column = np.argwhere(~(np.abs(array) < FARTHEST))[0]
                where = f"{part} of {self.joints[column]!r}" if part == "q" else part
                what = "not finite" if not np.isfinite(array[row, column]) else "absurdly large"
                yield f"{where} is {what} at {self._moment(row)}"
            elif part == "base_quat_wxyz":
                yield from self._turn_problems(np.linalg.norm(array, axis=1))
        for keypoint, place in self.person.items():
            if np.shape(place) != (len(self.q), 3) or not np.isfinite(place).all():
                yield f"person: {keypoint} has shape {np.shape(place)}, expected numbers (T, 3)"

    def _turn_problems(self, norms: np.ndarray) -> Iterator[str]:
        wrong = np.flatnonzero(np.abs(norms - 1) > UNIT)
        if len(wrong):
            norm, moment = norms[wrong[0]], self._moment(wrong[0])
            yield f"base_quat_wxyz has length {norm:.3g} at {moment}, expected 1"

    def _moment(self, row: int) -> str:
        return f"{row / self.rate:.3f} s (sample {row})"

    def __len__(self) -> int:
        return len(self.q)

    @property
    def seconds(self) -> float:
        """Time from the first to the last sample."""
        return (len(self) - 1) / self.rate

    def targets(self, robot: Robot, rate: float | None = None) -> np.ndarray:
        """(T', J) absolute targets in the robot's joint order, matched by name.

        Joints the motion lacks stay at the default pose; joints the robot has locked are left out.

        Args:
            robot: whose joints, also by their aliases.
            rate: samples per second; the motion's own by default.

        Raises:
            NameMismatchError: the motion moves a joint the robot does not have.
        """
        motion = self if rate is None else self.resampled(rate)
        known = (*robot.joints.names, *robot.locked)
        targets = np.tile(robot.joints.default, (len(motion), 1))
        for column, alias in enumerate(match(self.joints, known, robot.aliases)):
            if alias.joint in robot.joints.names:
                values = alias.sign * motion.q[:, column] + alias.offset
                targets[:, robot.joints.index(alias.joint)] = values
        return targets

    def for_robot(self, robot: Robot) -> Motion:
        """The same motion with exactly the robot's joints, in its order."""
        return replace(self, joints=robot.joints.names, q=self.targets(robot))

    def resampled(self, rate: float) -> Motion:
        """The same motion at another rate; no value leaves the range of its neighbours."""
        if rate == self.rate:
            return self
        if not 0 < rate < np.inf:
            raise DataError(f"cannot resample {self.name!r} to {rate} Hz; give a rate above 0")
        time = np.arange(len(self)) / self.rate
        # The last sample may lie a rounding error before the end of the old clock.
        at = np.minimum(np.arange(int(self.seconds * rate + 1e-6) + 1) / rate, time[-1])
        base, quat = self.base_pos, self.base_quat_wxyz
        return replace(
            self,
            rate=rate,
            q=PchipInterpolator(time, self.q)(at),
            base_pos=None if base is None else PchipInterpolator(time, base)(at),
            base_quat_wxyz=None if quat is None else _turned(time, quat, at),
            person={key: PchipInterpolator(time, p)(at) for key, p in self.person.items()},
        )

    def with_lead_in(self, robot: Robot, seconds: float = 2.0) -> Motion:
        """Add a minimum-jerk move from the default pose to the first sample, and one back.

        Args:
            robot: its default pose, its joints and their speed limits.
            seconds: length of each move; longer where half a joint's speed limit demands it.
        """
        if not 0 < seconds < np.inf:
            raise DataError(f"the lead-in is {seconds} s; give a time above 0")
        motion = self.for_robot(robot)
        start, back = (_move(robot, pose, self.rate, seconds) for pose in motion.q[[0, -1]])
        back = back[::-1]

        def held(values: np.ndarray | None) -> np.ndarray | None:
            if values is None:
                return None
            return np.pad(values, ((len(start), len(back)), (0, 0)), mode="edge")

        return replace(
            motion,
            q=np.concatenate([start, motion.q, back]),
            base_pos=held(self.base_pos),
            base_quat_wxyz=held(self.base_quat_wxyz),
            person={key: place for key, p in self.person.items() if (place := held(p)) is not None},
        )

    def save(self, path: str | Path) -> Path:
        """Write a .npz (arrays, no Python objects), or a .csv with a header; complete or absent.

        A .csv has no place for the person.
        """
        from gapless.motions.motion_files import save

        return save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Motion:
        """Read what `save` wrote; for other formats see `gapless.motions.references`."""
        from gapless.motions.motion_files import load

        return load(Path(path))


def min_jerk(share: np.ndarray) -> np.ndarray:
    """From 0 to 1 as the share of the time goes from 0 to 1, at rest and unpushed at both ends."""
    share = np.clip(share, 0, 1)
    return share**3 * (10 - 15 * share + 6 * share**2)


def _move(robot: Robot, pose: np.ndarray, rate: float, seconds: float) -> np.ndarray:
    """(N, J) from the default pose to just before `pose`."""
    way = pose - robot.joints.default
    speed = np.where(robot.joints.velocity > 0, robot.joints.velocity, np.inf)
    longest = np.max(PEAK * np.abs(way) / (CAREFUL * speed), initial=seconds)
    steps = max(int(np.ceil(longest * rate)), 1)
    return robot.joints.default + min_jerk(np.arange(steps) / steps)[:, None] * way


def _turned(time: np.ndarray, quats: np.ndarray, at: np.ndarray) -> np.ndarray:
    turns = Slerp(time, Rotation.from_quat(quats, scalar_first=True))(at)
    return turns.as_quat(scalar_first=True)
