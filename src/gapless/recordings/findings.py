"""What was found about a recording: one line a fact, graded by what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One fact about a recording.

    Attributes:
        severity: "error" makes the recording unfit for measuring, "warning" wants a look,
            "info" says what was done or could not be verified.
        code: a stable short name, for example "stuck" or "not_followed".
        message: the fact in words, with its numbers.
        joint: the joint it is about, None for the whole recording.
        count: number of samples (or joints) concerned.
        recording: name of the recording.
    """

    severity: Severity
    code: str
    message: str
    joint: str | None = None
    count: int = 0
    recording: str = ""

    def of(self, recording: str) -> Finding:
        """The same finding, about this recording."""
        return replace(self, recording=recording)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)
