"""Samples: what was seen, and what a teacher would have done then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Samples:
    """Moments of rollouts.

    Attributes:
        seen: (N, width) observations of the student.
        wanted: (N, A) actions of the teacher there.
        ahead: (N, H) rows of this and the next moments of the same episode; the last one stays.
    """

    seen: np.ndarray
    wanted: np.ndarray
    ahead: np.ndarray

    def __len__(self) -> int:
        return len(self.seen)

    @classmethod
    def of_rollout(
        cls, seen: np.ndarray, wanted: np.ndarray, ended: np.ndarray, foreseen: int
    ) -> Samples:
        """Of (T, n, ...) steps of n environments.

        Args:
            seen: (T, n, width).
            wanted: (T, n, A).
            ended: (T, n) where an episode's last step is.
            foreseen: moments that are looked ahead.
        """
        steps, count = ended.shape
        rows = np.arange(steps * count).reshape(steps, count)
        over = ended.copy()
        over[-1] = True
        ahead = [rows]
        for _ in range(foreseen - 1):
            now = ahead[-1]
            last = over.reshape(-1)[now]
            ahead.append(np.where(last, now, now + (~last) * count))
        return cls(
            seen.reshape(steps * count, -1).astype(np.float32),
            wanted.reshape(steps * count, -1).astype(np.float32),
            np.stack(ahead, axis=-1).reshape(steps * count, foreseen),
        )

    @classmethod
    def joined(cls, parts: Sequence[Samples]) -> Samples:
        """All of several, one after the other."""
        before = np.cumsum([0, *(len(part) for part in parts)])[:-1]
        return cls(
            np.concatenate([part.seen for part in parts]),
            np.concatenate([part.wanted for part in parts]),
            np.concatenate([p.ahead + b for p, b in zip(parts, before, strict=True)]),
        )

    def chunks(self, rows: np.ndarray) -> np.ndarray:
        """(k, H * A) the teacher's next actions, one after the other."""
        return self.wanted[self.ahead[rows]].reshape(len(rows), -1)

    def arrays(self) -> dict[str, np.ndarray]:
        """Of a file."""
        return dict(vars(self))
