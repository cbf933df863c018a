"""A multi-layer perceptron over the present and some frames of the past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.models.model import Inputs, Weights, dense, layers
from gapless.corrections.runtime.array_ops import Array


@dataclass(frozen=True)
class Mlp:
    """Dense layers.

    Attributes:
        sizes: of the hidden layers.
        now: signals at this step.
        past: signals at earlier steps.
        history: how many earlier steps.
    """

    sizes: tuple[int, ...] = (64, 64)
    now: tuple[str, ...] = ("q", "dq", "error")
    past: tuple[str, ...] = ("q", "target")
    history: int = 4

    @property
    def inputs(self) -> dict[str, Inputs]:
        """All in one."""
        return {"all": Inputs(self.now, self.past, self.history)}

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
        """Weights to begin with."""
        return layers("mlp", [widths["all"], *self.sizes, outputs], members, rng, silent=True)

    def hidden(self, environments: int, members: int) -> None:
        """Nothing is remembered but the frames."""

    def __call__(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, None]:
        """One pass through the layers."""
        return dense(weights, "mlp", given["all"]), None
