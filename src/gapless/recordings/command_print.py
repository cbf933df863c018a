"""The fingerprint of a command: small enough for a file, enough to know the command again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gapless.recordings.motion_identity import ALIKE, Asked, apart
from gapless.recordings.recording import Recording

MOMENTS = 32
"""Moments of a recording at which its commands are kept."""

FEWEST = 4
"""Moments that must be compared, where a print has as many: fewer agree by chance."""

ROUNDING = 1e-4
"""Of the targets that are kept, rad."""

TURNED = "turned_joints"
"""Where a recording's provenance names the joints that are turned already: never turn twice."""


@dataclass(frozen=True)
class LoggedCommand:
    """What a recording commands as it was logged, and at which rate."""

    asked: Asked
    rate: float

    @classmethod
    def of(cls, recording: Recording) -> LoggedCommand:
        """Joints that a calibration turned are turned back: its own recordings are known again."""
        asked = Asked.by(recording)
        turned = recording.provenance.get(TURNED, ())
        if asked.command is not None and turned:
            sign = np.array([-1.0 if j in turned else 1.0 for j in asked.joints], np.float32)
            asked = replace(asked, command=asked.command * sign)
        return cls(asked, recording.rate)

    @cached_property
    def digest(self) -> str:
        """Short hash of it; "" where nothing, or a policy, commands."""
        if self.asked.command is None:
            return ""
        found = hashlib.sha256(" ".join(self.asked.joints).encode())
        found.update((self.asked.command + 0.0).tobytes())  # -0.0 and 0.0 are one command
        return found.hexdigest()[:12]

    @property
    def seconds(self) -> float:
        """From the first to the last sample."""
        return 0.0 if self.asked.command is None else (len(self.asked.command) - 1) / self.rate


@dataclass(frozen=True)
class CommandPrint:
    """Targets of joints at a few moments.

    Attributes:
        part: of the split that it was in.
        motion: that it is of.
        moments: seconds since the first sample; the last is that of the last sample.
        targets: joint -> rad at each moment; one number where it never changes.
    """

    part: str
    motion: str
    moments: np.ndarray
    targets: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, command: LoggedCommand, part: str, motion: str) -> CommandPrint | None:
        """Of a recording; None where nothing, or a policy, commands."""
        values = command.asked.command
        if values is None:
            return None
        at = np.unique(np.linspace(0, len(values) - 1, MOMENTS).round().astype(int))
        still = (values == values[:1]).all(axis=0)
        targets = {
            joint: values[:1, i] if still[i] else values[at, i]
            for i, joint in enumerate(command.asked.joints)
        }
        return cls(part, motion, at / command.rate, targets)

    def distance(self, command: LoggedCommand) -> float:
        """How far a recording commands something else, rad; infinite where nothing compares.

        A recording that goes on for more than twice as long is another motion, though it begins
        alike; one that is the beginning of this motion is of it, where it moves.
        """
        values, joints = command.asked.command, command.asked.joints
        shared = [joint for joint in self.targets if joint in joints]
        if values is None or not shared or not self._moving <= set(shared):
            return np.inf
        at = (self.moments * command.rate).round().astype(int)
        both = at < len(values)
        longest = max(self.moments[-1], command.seconds) or 1.0
        if both.sum() < min(FEWEST, len(at)) or 2 * self.moments[-1] < longest == command.seconds:
            return np.inf
        own = np.stack([np.broadcast_to(self.targets[j], len(at))[both] for j in shared], axis=1)
        theirs = values[at[both]][:, [joints.index(j) for j in shared]]
        return apart(own, theirs, min(self.moments[-1], command.seconds) / longest)

    def fits(self, command: LoggedCommand) -> bool:
        """Whether a recording is of this motion."""
        return self.distance(command) <= ALIKE + ROUNDING

    @cached_property
    def _moving(self) -> set[str]:
        return {joint for joint, values in self.targets.items() if len(values) > 1}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; what is not known is null."""
        targets = {
            joint: [None if np.isnan(v) else round(float(v), 4) for v in values]
            for joint, values in self.targets.items()
        }
        moments = [round(float(t), 6) for t in self.moments]
        return {"part": self.part, "motion": self.motion, "moments": moments, "targets": targets}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CommandPrint:
        """Inverse of `to_dict`."""
        targets = {str(j): np.array(v, np.float32) for j, v in data["targets"].items()}
        moments = np.array(data["moments"], float)
        return cls(str(data["part"]), str(data["motion"]), moments, targets)
