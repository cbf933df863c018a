"""A model for each environment, whose dry friction is written anew at every physics step.

MuJoCo holds joints by a constraint whose bound is a figure of the model, and environments share
models: where the bound depends on speed or load, each environment needs a copy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import mujoco
import numpy as np


class FrictionModels:
    """Copies of the models of environments; kept, because a copy costs as much as 50 steps.

    Args:
        dof: (J,) where the joints are among a model's degrees of freedom.
    """

    def __init__(self, dof: np.ndarray) -> None:
        self._dof = dof
        self._given: list[mujoco.MjModel] = []
        self._own: list[mujoco.MjModel] = []
        self._losses: list[np.ndarray] = []

    def of_environments(self, models: Sequence[mujoco.MjModel]) -> list[mujoco.MjModel]:
        """One model an environment, each with the figures of the one given."""
        for row, model in enumerate(models):
            if row < len(self._given) and self._given[row] is model:
                continue
            own, here = copy.copy(model), slice(row, row + 1)
            self._given[here], self._own[here] = [model], [own]
            self._losses[here] = [own.dof_frictionloss]
        return self._own[: len(models)]

    def write(self, bound: np.ndarray) -> None:
        """Let the joints of the first n models hold (n, J) N·m; a base has no friction."""
        everywhere = np.zeros((len(bound), len(self._losses[0])))
        everywhere[:, self._dof] = bound
        for losses, row in zip(self._losses, everywhere, strict=False):
            losses[:] = row
