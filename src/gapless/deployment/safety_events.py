"""SafetyEvent: one limit that was passed, by what, and what was done about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SafetyEvent:
    """A check that tripped.

    Attributes:
        check: its name; see `safety_limits.KINDS`. "operator", "policy" and "link" are not checks.
        action: what was done: clamp or damp.
        step: control step of the filter.
        joint: whose it was; "" where it is none's.
        value: that passed the limit.
        limit: that it passed.
        why: in words, where numbers do not say it.
    """

    check: str
    action: str
    step: int
    joint: str = ""
    value: float = float("nan")
    limit: float = float("nan")
    why: str = ""

    def __str__(self) -> str:
        whose = f" of {self.joint}" if self.joint else ""
        said = self.why or f"{self.value:.4g} passes {self.limit:.4g}"
        return f"step {self.step}: {self.check}{whose}: {said} -> {self.action}"


@dataclass(frozen=True)
class Trip:
    """What a check found, before anybody decided what to do about it."""

    check: str
    value: float
    limit: float
    joint: str = ""
    why: str = ""

    def event(self, action: str, step: int) -> SafetyEvent:
        """As it is told."""
        return SafetyEvent(
            self.check, action, step, self.joint, self.value, self.limit, why=self.why
        )
