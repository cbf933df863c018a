"""A policy's trim: few numbers by which a network that is good already suits another robot.

Soft drives, wrong zeros, a mass, a tilted IMU: much of what sets a robot apart from the simulator
its policy was trained in, a gain and an offset of each action make good, and an offset of gravity
as the policy sees it. All of them fold into the network's own weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gapless.policies.contract_columns import term_columns
from gapless.policies.mlp_weights import MlpWeights
from gapless.policies.policy_contract import PolicyContract

GAIN = 0.1
"""One unit of a trim is so much of an action's size,"""
OFFSET = 0.025
"""so many radians of what it commands,"""
TILT = 0.02
"""and so much of gravity across the base, 1."""


@dataclass(frozen=True)
class TrimmedNetwork:
    """A network with a trim of its own for every environment.

    Attributes:
        weights: of the network.
        contract: what its inputs and outputs mean.
        trims: (n, K) in units of GAIN and OFFSET for each action, then of TILT along x and y.
    """

    weights: MlpWeights
    contract: PolicyContract
    trims: np.ndarray

    def __call__(self, observed: np.ndarray) -> np.ndarray:
        """(n, A) what n environments do, each with its own trim."""
        acted = self.weights(observed + self._tilts @ self._gravity)
        return (1 + self._gains) * acted + self._offsets

    def folded(self) -> MlpWeights:
        """The network of a single trim."""
        (first, bias), *_ = self.weights.layers
        seen = (self._tilts @ self._gravity)[0]
        seen = seen if self.weights.std is None else seen / self.weights.std
        layers = [*self.weights.layers]
        layers[0] = first, (bias + first @ seen).astype(np.float32)
        matrix, bias = layers[-1]
        gain = 1 + self._gains[0]
        layers[-1] = (
            (gain[:, None] * matrix).astype(np.float32),
            (gain * bias + self._offsets[0]).astype(np.float32),
        )
        return replace(self.weights, layers=tuple(layers))

    @property
    def _gains(self) -> np.ndarray:
        return GAIN * self.trims[:, : self.weights.outputs]

    @property
    def _offsets(self) -> np.ndarray:
        """In the network's own units."""
        many = self.weights.outputs
        return OFFSET * self.trims[:, many : 2 * many] / np.asarray(self.contract.action.scale)

    @property
    def _tilts(self) -> np.ndarray:
        return TILT * self.trims[:, 2 * self.weights.outputs :]

    @cached_property
    def _gravity(self) -> np.ndarray:
        """(0 or 2, width) what a unit of gravity along x and along y adds to an observation."""
        return gravity_columns(self.contract)


def gravity_columns(contract: PolicyContract) -> np.ndarray:
    """(2, width), in every frame that a policy sees; (0, width) where it does not see gravity."""
    columns, found = term_columns(contract), np.zeros((2, contract.width))
    for name, term in contract.terms.items():
        if term.kind == "projected_gravity" and not term.columns and name in columns:
            scale = np.broadcast_to(term.scale, 3)
            for axis in range(2):
                found[axis, columns[name].reshape(-1, 3)[:, axis]] = scale[axis]
    return found if found.any() else found[:0]


def trim_size(weights: MlpWeights, contract: PolicyContract) -> int:
    """Numbers of a trim."""
    return 2 * weights.outputs + len(gravity_columns(contract))
