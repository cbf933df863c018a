"""Memory: the frames a correction has seen, what it gave last, and a network's hidden state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapless.corrections.runtime.array_ops import Array
from gapless.corrections.runtime.signals import Signals


@dataclass(frozen=True)
class Memory:
    """What a correction remembers of n environments.

    Attributes:
        frames: signals of the last steps, oldest first.
        start_error: (..., n, J) target - q when the copy was reset.
        output: (..., n, K) what was given last.
        hidden: a recurrent network's state, or None.
    """

    frames: tuple[Signals, ...]
    start_error: Array
    output: Array
    hidden: Array | None

    @classmethod
    def begun(cls, now: Signals, history: int, output: Array, hidden: Array | None) -> Memory:
        """Before the first step: as if the present frame had always been."""
        return cls((now,) * max(1, history), now["error"], output, hidden)

    def after(self, now: Signals, output: Array, hidden: Array | None) -> Memory:
        """After a step."""
        return replace(self, frames=(*self.frames[1:], now), output=output, hidden=hidden)

    def renewed(self, which: np.ndarray, other: Memory) -> Memory:
        """The same, with some environments (a mask) as in another; NumPy arrays only."""
        rows = which[:, None]
        return Memory(
            frames=tuple(
                {k: np.where(rows, b[k], a[k]) for k in a}
                for a, b in zip(self.frames, other.frames, strict=True)
            ),
            start_error=np.where(rows, other.start_error, self.start_error),
            output=np.where(rows, other.output, self.output),
            hidden=None if self.hidden is None else np.where(rows, other.hidden, self.hidden),
        )
