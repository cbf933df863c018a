"""A gated recurrent unit followed by dense layers: its memory is as long as the motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.models.model import Inputs, Weights, dense, layers
from gapless.corrections.runtime.array_ops import Array, concat, sigmoid, tanh, transposed


@dataclass(frozen=True)
class Gru:
    """One recurrent layer, then dense ones.

    Attributes:
        units: of the recurrent layer.
        sizes: of the dense layers after it.
        now: signals at this step.
    """

    units: int = 64
    sizes: tuple[int, ...] = (64,)
    now: tuple[str, ...] = ("q", "dq", "target", "error")

    @property
    def inputs(self) -> dict[str, Inputs]:
        """The present; the past is remembered."""
        return {"all": Inputs(self.now)}

    @property
    def frozen(self) -> tuple[str, ...]:
        """All of it learns."""
        return ()

    @property
    def joint_by_joint(self) -> bool:
        """It sees all joints at once."""
        return False

    def initial(
        self, widths: dict[str, int], outputs: int, members: int, rng: np.random.Generator
    ) -> Weights:
        """Weights to begin with; the gates of reset, update and candidate lie side by side."""
        seen = layers("input", [widths["all"], 3 * self.units], members, rng)
        kept = layers("recurrent", [self.units, 3 * self.units], members, rng)
        sizes = [self.units + widths["all"], *self.sizes, outputs]
        return seen | kept | layers("mlp", sizes, members, rng, silent=True)

    def hidden(self, environments: int, members: int) -> np.ndarray:
        """Nothing seen yet."""
        return np.zeros((members, environments, self.units))

    def __call__(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, Array]:
        """One step in time."""
        x, n = given["all"], self.units
        seen = x @ transposed(weights["input.0.weight"]) + weights["input.0.bias"]
        kept = hidden @ transposed(weights["recurrent.0.weight"]) + weights["recurrent.0.bias"]
        reset = sigmoid(seen[..., :n] + kept[..., :n])
        update = sigmoid(seen[..., n : 2 * n] + kept[..., n : 2 * n])
        candidate = tanh(seen[..., 2 * n :] + reset * kept[..., 2 * n :])
        after = (1 - update) * candidate + update * hidden
        # The present goes past the memory too: a proportional law needs none.
        return dense(weights, "mlp", concat([after, x])), after
