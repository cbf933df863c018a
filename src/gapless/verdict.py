"""A Verdict: the replay error without and with something, on recordings that did not teach it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gapless.field_kinds import wrong_fields

CLOSED_LOOP = "closed loop"
"""The name of an error beside those of horizons: how far a policy's path is off, m."""

LEAST_GAIN = 0.01
"""Share of the error that a step must take away to be kept: less may be chance, and costs time."""


@dataclass(frozen=True)
class Verdict:
    """Replay error before and after, rad; see `gapless.measurement.judge`.

    Attributes:
        before: without what is judged.
        after: with it.
        horizon: seconds replayed, or "full".
        motions: that were replayed.
    """

    before: float
    after: float
    horizon: float | str
    motions: tuple[str, ...]

    @property
    def improved(self) -> bool:
        """Whether the error is clearly smaller with it."""
        return self.reduction >= LEAST_GAIN

    @property
    def reduction(self) -> float:
        """Share of the error that is gone: 0.4 is 40 % less."""
        return 1 - self.after / self.before if self.before else 0.0

    @classmethod
    def mean(cls, verdicts: Sequence[Verdict]) -> Verdict:
        """Of several folds: errors averaged, motions together."""
        return cls(
            sum(v.before for v in verdicts) / len(verdicts),
            sum(v.after for v in verdicts) / len(verdicts),
            verdicts[0].horizon,
            tuple(dict.fromkeys(m for v in verdicts for m in v.motions)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "motions": list(self.motions)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Verdict | None:
        """Inverse of `to_dict`; None stays None.

        Raises:
            ValueError: a field holds something else.
        """
        if data is None:
            return None
        found = cls(**{**data, "motions": tuple(data["motions"])})
        for wrong in wrong_fields(found):
            raise ValueError(wrong)
        return found

    def __str__(self) -> str:
        change = f"{abs(self.reduction):.0%} {'less' if self.reduction >= 0 else 'more'}"
        horizon = self.horizon if isinstance(self.horizon, str) else f"{self.horizon:g} s"
        count = f"{len(self.motions)} motion{'s' if len(self.motions) != 1 else ''}"
        return f"{self.before:.5f} -> {self.after:.5f} rad ({change}; {horizon}, {count})"
