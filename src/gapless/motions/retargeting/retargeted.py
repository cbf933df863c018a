"""Retargeted: a motion that was taken from a person, and what was found on the way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gapless.motions.motion import Motion
from gapless.motions.retargeting.difficulty import Difficulty
from gapless.motions.retargeting.person import Person
from gapless.motions.trackability import Trackability, TrackabilityCheck
from gapless.printing import PrintsAsTables


@dataclass(frozen=True, eq=False)
class Retargeted(PrintsAsTables):
    """The result of `gapless.retarget`.

    Attributes:
        motion: of the robot; it carries the person's keypoints.
        person: of the robot's size, where the robot is.
        errors: keypoint -> mean distance of the robot's point from the person's, m.
        before: checks of the poses as they were fitted.
        after: checks of the motion, after feet were repaired.
        difficulty: easy, medium or hard.
        ratios: the robot's length over the person's, of leg, trunk and arm.
        notes: what was found and done.
    """

    motion: Motion
    person: Person
    errors: dict[str, float]
    before: Trackability
    after: Trackability
    difficulty: Difficulty
    ratios: dict[str, float]
    notes: tuple[str, ...]

    @property
    def error(self) -> float:
        """Mean over keypoints, m; toes are not among them."""
        return float(np.mean(list(self.errors.values())))

    @property
    def answer(self) -> str:
        """The one line that was asked for."""
        return (
            f"{self.motion.name}: {self.motion.seconds:.1f} s for {self.after.robot}, keypoints "
            f"{1000 * self.error:.0f} mm from the person's on average; {self.difficulty}"
        )

    def save(self, path: str | Path) -> Path:
        """Write the motion; see `Motion.save`."""
        return self.motion.save(path)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "answer": self.answer,
            "ok": self.after.ok,
            "name": self.motion.name,
            "seconds": self.motion.seconds,
            "error_m": self.error,
            "errors_m": self.errors,
            "ratios": self.ratios,
            "difficulty": self.difficulty.to_dict(),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "notes": list(self.notes),
        }

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table("check", "as fitted", "repaired", "limit", "verdict")
        for first, last in zip(self.before.checks, self.after.checks, strict=True):
            verdict = "ok" if last.ok else "refused" if last.fatal else "doubtful"
            values = (_told(c.value, last) for c in (first, last))
            table.add_row(last.name, *values, _told(last.limit, last), verdict)
        points = Table("keypoint", "mean distance [mm]")
        for key, error in self.errors.items():
            points.add_row(key, f"{1000 * error:.0f}")
        return Group(Text(self.answer), *map(Text, self.notes), table, points)


def _told(value: float, check: TrackabilityCheck) -> str:
    return f"{value:.3g} {check.unit}"
