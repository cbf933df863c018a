"""Settings of an imitation: how much is recorded, and what learns from it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from gapless.errors import DataError, unknown

MODELS = ("mlp", "flow")
"""A plain network, or a flow from noise to the next few actions."""


@dataclass(frozen=True)
class ImitateSettings:
    """How trackers are imitated.

    Attributes:
        model: mlp or flow.
        rounds: of DAgger after behaviour cloning; 0 is cloning alone.
        samples: control steps that are recorded, in all rounds and of all teachers together.
        updates: steps of Adam, in all rounds together.
        environments: at once, of each teacher.
        hidden: sizes of the network's layers.
        batch: samples of an update.
        rate: step size of Adam to begin with; it falls to a hundredth of it.
        chunk: actions that a flow foresees; of these the first is taken, and the rest thought anew.
        euler: steps from noise to actions.
        start_noise: share of ASAP's noise of starts.
        action_noise: rad, uniform within plus and minus, added to targets; not to what is learned.
        push: speed given to the base now and then, m/s.
        threads: of torch.
    """

    model: str = "mlp"
    rounds: int = 8
    samples: int = 400_000
    updates: int = 20_000
    environments: int = 64
    hidden: tuple[int, ...] = (512, 256, 128)
    batch: int = 512
    rate: float = 1e-3
    chunk: int = 4
    euler: int = 4
    start_noise: float = 0.2
    action_noise: float = 0.02
    push: float = 0.3
    threads: int = 1

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise unknown("model of a student", self.model, MODELS)
        counts = {k: getattr(self, k) for k in _COUNTS} | {"hidden": min(self.hidden, default=0)}
        amounts = {k: getattr(self, k) for k in _AMOUNTS}
        few = [f"{k} is {v}" for k, v in counts.items() if v < 1]
        few += [f"{k} is {v}" for k, v in amounts.items() if not 0 <= v < math.inf]
        if few or not 0 < self.rate < math.inf:
            told = ", ".join(few) or f"rate is {self.rate}"
            raise DataError(f"{told}; expected counts of 1 or more, amounts that are not below 0")

    @property
    def parts(self) -> int:
        """Rounds, with the cloning before them."""
        return self.rounds + 1

    @property
    def foreseen(self) -> int:
        """Actions that are learned of each moment."""
        return self.chunk if self.model == "flow" else 1

    def steps_of(self, teachers: int) -> int:
        """Control steps of each environment in a round."""
        return max(1, round(self.samples / (self.parts * teachers * self.environments)))

    def updates_of(self, part: int) -> range:
        """Numbers of the updates of a round."""
        ends = [round(k * self.updates / self.parts) for k in (part, part + 1)]
        return range(*ends)

    def rate_at(self, update: int) -> float:
        """Step size of Adam at an update: half a cosine."""
        share = 0.5 * (1 + math.cos(math.pi * update / self.updates))
        return self.rate * (0.01 + 0.99 * share)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


_COUNTS = ("samples", "updates", "environments", "batch", "chunk", "euler", "threads")
_AMOUNTS = ("rounds", "start_noise", "action_noise", "push")
