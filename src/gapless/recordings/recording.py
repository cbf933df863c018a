"""A Recording: one clip of what a robot did, on a uniform clock, with names, units and a mask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from gapless.errors import DataError, unknown
from gapless.recordings.conditions import Conditions

JOINT_CHANNELS = {
    "dq": "rad/s",
    "torque": "N·m",
    "target_dq": "rad/s",
    "torque_ff": "N·m",
    "temperature": "°C",
    "sim_q": "rad",
    "sim_dq": "rad/s",
    "sim_torque": "N·m",
}
"""Optional per-joint channels and their units; q and target (rad) are fields of their own.

`target_dq` and `torque_ff` are commanded beside the target: the motor then applies
kp·(target - q) + kd·(target_dq - dq) + torque_ff. `sim_...` is a simulated replica on the same
clock: the same commands, played from the same start.
"""

BODY_CHANNELS = {
    "base_pos": (3, "m"),
    "base_quat_wxyz": (4, "1"),
    "base_lin_vel_w": (3, "m/s"),
    "base_ang_vel_b": (3, "rad/s"),
    "imu_quat_wxyz": (4, "1"),
    "imu_gyro": (3, "rad/s"),
    "imu_acc": (3, "m/s²"),
    "contact": (None, "N or bool, one a foot"),
    "sim_base_pos": (3, "m"),
    "sim_base_quat_wxyz": (4, "1"),
}
"""Optional whole-body channels: number of columns and unit."""


@dataclass(frozen=True)
class Recording:
    """One clip, sampled every 1/rate seconds.

    The rule of time: `target[t]` is held from t to t+1, and `q[t+1]` is its result.

    Attributes:
        name: the motion; recordings of one motion share it, and splits go by it.
        joints: joint names of the robot, in the order of the columns.
        rate: samples per second.
        q: (T, J) positions, rad.
        target: (T, J) commanded absolute positions, rad; None where nothing was commanded.
        mask: (T, J) True where the sample may be used. Nothing is repaired silently: a gap,
            a NaN or a stuck encoder is False here, and q then holds a filler that is never scored.
        channels: whatever else was logged, by the names of JOINT_CHANNELS and BODY_CHANNELS.
        conditions: payload, unit, gains, mount.
        provenance: source, importer, what was masked and moved.
    """

    name: str
    joints: tuple[str, ...]
    rate: float
    q: np.ndarray
    target: np.ndarray | None
    mask: np.ndarray
    channels: dict[str, np.ndarray] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = list(self._shape_problems())
        if problems:
            raise DataError(f"recording {self.name!r}: " + "; ".join(problems))

    def _shape_problems(self) -> list[str]:
        shape = (len(self.q), len(self.joints))
        per_joint = {"q": self.q, "target": self.target, "mask": self.mask}
        per_joint |= {k: v for k, v in self.channels.items() if k in JOINT_CHANNELS}
        problems = [
            f"{name} has shape {array.shape}, expected {shape}"
            for name, array in per_joint.items()
            if array is not None and array.shape != shape
        ]
        for name, array in self.channels.items():
            if name not in JOINT_CHANNELS and name not in BODY_CHANNELS:
                problems.append(f"unknown channel {name!r}")
            elif len(array) != shape[0]:
                problems.append(f"{name} has {len(array)} samples, expected {shape[0]}")
            elif name in BODY_CHANNELS and array.shape[1:] != self._width(name, array):
                problems.append(f"{name} has shape {array.shape}, expected {BODY_CHANNELS[name]}")
        if not problems and not np.isfinite(self.q[self.mask]).all():
            problems.append("q is not finite where the mask says it may be used")
        if len(set(self.joints)) != len(self.joints):
            problems.append("a joint is named twice")
        if not self.rate > 0:
            problems.append(f"rate is {self.rate}")
        return problems

    @staticmethod
    def _width(channel: str, array: np.ndarray) -> tuple[int, ...]:
        columns = BODY_CHANNELS[channel][0]
        return array.shape[1:2] if columns is None else (columns,)

    def __len__(self) -> int:
        return len(self.q)

    @property
    def flags(self) -> tuple[str, ...]:
        """Why the import called it unfit for learning and measuring; empty where it is fit."""
        return flags_of(self.provenance)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last sample."""
        return (len(self) - 1) / self.rate

    @property
    def time(self) -> np.ndarray:
        """(T,) seconds since the first sample."""
        return np.arange(len(self)) / self.rate

    @property
    def frame_valid(self) -> np.ndarray:
        """(T,) True where every joint that has usable samples at all has one."""
        return np.asarray(self.mask[:, self.mask.any(axis=0)].all(axis=1) & self.mask.any())

    def column(self, joint: str) -> int:
        """Column of a joint."""
        if joint not in self.joints:
            raise unknown("joint", joint, self.joints)
        return self.joints.index(joint)

    def with_reference_as_command(self) -> Recording:
        """The recorded positions as their own commands, each one step ahead of its result.

        For reference motions, which command nothing: replaying them shows how well the robot's
        controller follows the reference, not a gap between simulator and robot.
        """
        return replace(self, target=np.concatenate([self.q[1:], self.q[-1:]]))

    def clip(self, start: int, stop: int) -> Recording:
        """The samples start:stop as a recording of its own."""
        return replace(
            self,
            q=self.q[start:stop],
            target=None if self.target is None else self.target[start:stop],
            mask=self.mask[start:stop],
            channels={k: v[start:stop] for k, v in self.channels.items()},
        )


def flags_of(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags in the provenance of a recording, which is where they are stored."""
    return tuple(map(str, provenance.get("flags") or ()))


class Recordings(Protocol):
    """A Dataset, or any sequence of recordings of one robot; each is read when asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Recording: ...

    def __iter__(self) -> Iterator[Recording]: ...
