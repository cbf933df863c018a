"""What a robot's log shows of its base: the IMU's view, late, noisy and askew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gapless.robots.rotations import conj, mul, rotate
from gapless.worlds.hidden.readings import late
from gapless.worlds.hidden.truth import Truth
from gapless.worlds.imu_mounting import small_turn
from gapless.worlds.world import Trajectory


@dataclass(frozen=True)
class Imu:
    """Orientation and angular velocity as they are measured; positions come from elsewhere.

    Attributes:
        gyro_noise: sigma of angular velocities, rad/s.
        gyro_bias: (3,) what the gyro shows at rest, rad/s.
        tilt: (2,) turns about the base's x and y between its frame and the IMU's, rad.
        noise: sigma of orientations about each axis, rad.
        delay: how much older a sample is than what the log shows beside it, s.
        age: how old it is in all, s.
    """

    gyro_noise: float
    gyro_bias: np.ndarray
    tilt: np.ndarray
    noise: float
    delay: float
    age: float

    @classmethod
    def of(cls, truth: Truth) -> Imu:
        """That of a hidden unit."""
        delay = truth.number("imu_delay")
        return cls(
            gyro_noise=truth.number("gyro_noise"),
            gyro_bias=truth.vector("gyro_bias"),
            tilt=truth.vector("imu_tilt"),
            noise=truth.number("imu_noise"),
            delay=delay,
            age=delay + truth.number("sensor_delay"),
        )

    @property
    def noisy(self) -> bool:
        """Whether chance has a part in it."""
        return bool(self.gyro_noise or self.noise)

    @property
    def perfect(self) -> bool:
        """Whether the log shows the base as everything else."""
        return not (self.noisy or self.delay or self.gyro_bias.any() or self.tilt.any())

    def log(
        self,
        seen: Trajectory,
        true: Trajectory,
        rate: float,
        generators: Sequence[np.random.Generator],
    ) -> Trajectory:
        """What is logged, with the IMU's view of the base in it.

        Args:
            seen: what the other sensors show of the newest samples, all or some.
            true: every sample that the IMU may still show.
            rate: samples per second.
            generators: one an environment; not used without noise.
        """
        if self.perfect or true.base_quat_wxyz is None:
            return seen
        samples, askew = seen.q.shape[1], small_turn(np.append(self.tilt, 0.0))
        base = late(true, self.age, rate)[:, -samples:]
        quat = mul(base.base_quat_wxyz, askew)  # type: ignore[arg-type]
        gyro = rotate(conj(askew), base.base_ang_vel_b) + self.gyro_bias  # type: ignore[arg-type]
        if self.noisy:
            drawn = np.stack([g.standard_normal((samples, 6)) for g in generators])
            quat = mul(quat, small_turn(self.noise * drawn[..., :3]))
            gyro = gyro + self.gyro_noise * drawn[..., 3:]
        return replace(seen, base_quat_wxyz=quat, base_ang_vel_b=gyro)
