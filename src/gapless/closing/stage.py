"""A Stage: the simulator at one step of a run, and what the step is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gapless.measurement import Gap
from gapless.measurement.spans import Horizon
from gapless.verdict import Verdict

STAGES = ("raw", "identified", "corrected")
METRIC = "replay_error"
"""What is reported of a stage; the same is chosen by."""


@dataclass(frozen=True)
class Stage:
    """What a step found.

    Attributes:
        gap: on the held-out motions, only reported; None where the step failed.
        choose: the verdict of the choosing motions; None of the raw simulator.
        kept: whether the step is part of the simulator that is handed out.
        why: it is not.
        usage: what a correction did meanwhile.
    """

    gap: Gap | None
    choose: Verdict | None = None
    kept: bool = True
    why: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def judged(cls, gap: Gap, verdict: Verdict | None, against: str = "", **usage: Any) -> Stage:
        """Kept if the choosing motions say so; what nothing chose is not.

        Args:
            gap: on the held-out motions.
            verdict: of the choosing motions.
            against: what else they say against it.
            usage: what a correction did meanwhile.
        """
        if verdict is None:
            return cls(gap, None, False, "no motion could choose", usage)
        why = "" if verdict.improved else f"choosing motions: replay error {verdict}"
        why = against or why
        return cls(gap, verdict, not why, why, usage)

    @classmethod
    def failed(cls, error: Exception) -> Stage:
        """A step that came to nothing."""
        return cls(None, None, False, str(error))

    def error(self, horizon: Horizon) -> float | None:
        """Replay error on the held-out motions, rad."""
        return None if self.gap is None else self.gap.mean(METRIC, horizon).value

    def by(self, group: str, horizon: Horizon) -> dict[str, float]:
        """The same for each payload, unit or motion."""
        if self.gap is None:
            return {}
        return {k: mean.value for k, mean in self.gap.by(group, METRIC, horizon).items()}

    def by_joint(self, horizon: Horizon) -> dict[str, float]:
        """The same for each joint that was scored."""
        if self.gap is None:
            return {}
        values = self.gap.joint(METRIC, horizon)
        return {j: float(v) for j, v in zip(self.gap.joints, values, strict=True) if v == v}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "gap": None if self.gap is None else self.gap.to_dict(),
            "choose": None if self.choose is None else self.choose.to_dict(),
            "kept": self.kept,
            "why": self.why,
            "usage": dict(self.usage),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Stage:
        """Inverse of `to_dict`."""
        gap = None if data["gap"] is None else Gap.from_dict(data["gap"])
        choose = Verdict.from_dict(data["choose"])
        return cls(gap, choose, bool(data["kept"]), str(data["why"]), data["usage"])
