"""Small networks that see one joint each: what drives do, whatever the posture.

After an identification most of what is left happens inside each drive. A network that cannot see
the other joints cannot learn motions by heart, and holds on motions it never saw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapless.corrections.models.mlp import Mlp
from gapless.corrections.models.model import Weights, columns_of_joints, dense, joint_layers
from gapless.corrections.runtime.array_ops import Array, transposed


@dataclass(frozen=True)
class Actuator(Mlp):
    """Dense layers, as many as there are joints; a joint mask picks from their outputs.

    Attributes:
        sizes: of the hidden layers.
        now: signals at this step; those that are not of joints are seen by all.
        past: signals at earlier steps.
        history: how many earlier steps.
        share: number of each joint's network: joints of one number share it, so that with little
            data each learns from what the others did. None gives every joint its own; words that
            stand for numbers are in `gapless.corrections.shared_motors`.
    """

    sizes: tuple[int, ...] = (32, 32)
    now: tuple[str, ...] = ("q", "dq", "error")
    past: tuple[str, ...] = ("dq", "error")
    history: int = 6
    share: tuple[int, ...] | str | None = None

    @property
    def joint_by_joint(self) -> bool:
        """It is made of networks that see one joint each."""
        return True

    def initial(
        self, widths: dict[str, int], outputs: int, members: int, rng: np.random.Generator
    ) -> Weights:
        """Weights to begin with, (members, networks, ...)."""
        joints, seen = self._columns(widths["all"]).shape
        networks = len(set(self.share)) if self.share else joints
        return joint_layers("mlp", [seen, *self.sizes, 1], members, networks, rng, silent=True)

    def __call__(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, None]:
        """One pass of every joint's columns through its layers."""
        x = given["all"]
        own = x[..., self._columns(x.shape[-1])]  # (..., n, J, seen)
        own = own.swapaxes(-2, -3)
        if self.share:
            weights = {k: v[:, list(self.share)] for k, v in weights.items() if k[:4] == "mlp."}
        return transposed(dense(weights, "mlp", own)[..., 0]), None

    def _columns(self, total: int) -> np.ndarray:
        return columns_of_joints(self.inputs["all"], total)
