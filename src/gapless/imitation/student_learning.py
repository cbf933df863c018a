"""A student that learns: batches, Adam, and the best of its rounds."""

from __future__ import annotations

import numpy as np
import torch

from gapless.errors import SimulationError
from gapless.imitation.imitate_settings import ImitateSettings
from gapless.imitation.samples import Samples
from gapless.imitation.student_networks import StudentWeights, student_network
from gapless.learning.adam_state import Arrays, adam_arrays, restore_adam, under
from gapless.progress import ProgressReporter, Watch

SHOWN = 50
"""Updates between two figures of the loss."""
NOW, BEST, ADAM = "now/", "best/", "optimiser/"


class StudentLearning:
    """A network and its optimiser, from round to round.

    Args:
        samples: of the first round.
        settings: of the imitation.
        seed: of the network and its batches.
    """

    def __init__(self, samples: Samples, settings: ImitateSettings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self.network = student_network(samples, settings, seed)
        self._adam = torch.optim.Adam(self.network.parameters(), lr=settings.rate)
        self._best, self._least = self.network.arrays(), np.inf

    @property
    def size(self) -> int:
        """Numbers that are learned."""
        return sum(p.numel() for p in self.network.parameters())

    def learn(self, samples: Samples, part: int, watch: Watch | None = None) -> float:
        """The updates of a round on all samples so far; gives the mean loss of the last ones.

        Raises:
            SimulationError: the loss is no number.
        """
        updates = self._settings.updates_of(part)
        reporter = ProgressReporter(watch, f"round {part}, learning", len(updates))
        draw = np.random.default_rng([self._seed, 1, part])
        chance = torch.Generator().manual_seed(self._seed * 1009 + part)
        losses: list[float] = []
        for k, update in enumerate(updates, 1):
            rows = draw.integers(0, len(samples), self._settings.batch)
            losses.append(self._updated(samples, rows, self._settings.rate_at(update), chance))
            if not np.isfinite(losses[-1]):
                raise SimulationError(
                    f"the loss of round {part} is no number after {k} updates; a smaller --rate"
                )
            if k % SHOWN == 0 or k == len(updates):
                reporter.tell(k, {"loss": float(np.mean(losses[-SHOWN:]))})
        return float(np.mean(losses[-SHOWN:])) if losses else 0.0

    def _updated(
        self, samples: Samples, rows: np.ndarray, rate: float, chance: torch.Generator
    ) -> float:
        for group in self._adam.param_groups:
            group["lr"] = rate
        seen, chunk = torch.tensor(samples.seen[rows]), torch.tensor(samples.chunks(rows))
        loss = self.network.loss(seen, chunk, chance)
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        return float(loss.detach())

    def note(self, error: float) -> None:
        """Keep the network where its error is the least so far."""
        if error < self._least:
            self._best, self._least = self.network.arrays(), error

    def weights(self) -> StudentWeights:
        """The student as it is."""
        return self.network.weights()

    def best(self) -> StudentWeights:
        """The student of the best round, which it is from now on."""
        self.network.restore(self._best)
        return self.network.weights()

    def acts(self, seen: np.ndarray) -> np.ndarray:
        """(n, A) what torch makes of observations."""
        with torch.inference_mode():
            return self.network(torch.tensor(seen, dtype=torch.float32)).numpy()

    def arrays(self) -> Arrays:
        """All that a resumed imitation needs."""
        parts = {NOW: self.network.arrays(), BEST: self._best, ADAM: adam_arrays(self._adam)}
        found = {prefix + k: v for prefix, part in parts.items() for k, v in part.items()}
        return found | {"least": np.array(self._least)}

    def restore(self, arrays: Arrays) -> None:
        """Inverse of `arrays`."""
        self.network.restore(under(NOW, arrays))
        restore_adam(self._adam, under(ADAM, arrays))
        self._best, self._least = under(BEST, arrays), float(arrays["least"])
