"""What a network is: pure functions of its weights, the same in NumPy and torch.

Weights have a leading axis of members: an ensemble is one network with more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

import numpy as np

from gapless.corrections.runtime.array_ops import Array, elu, transposed
from gapless.corrections.runtime.signals import PER_JOINT, width

Weights = dict[str, Array]


@dataclass(frozen=True)
class Inputs:
    """The signals of one input of a network.

    Attributes:
        now: at this step.
        past: at each of the last `history` steps.
        history: how many.
    """

    now: tuple[str, ...]
    past: tuple[str, ...] = ()
    history: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Every signal, once."""
        return tuple(dict.fromkeys((*self.now, *(self.past if self.history else ()))))


class Model(Protocol):
    """A network, frozen settings and all."""

    @property
    def inputs(self) -> dict[str, Inputs]:
        """Name of an input -> what it holds."""
        ...

    @property
    def frozen(self) -> tuple[str, ...]:
        """Beginnings of the names of weights that training leaves alone."""
        ...

    @property
    def joint_by_joint(self) -> bool:
        """Whether what it gives for a joint follows from that joint's own signals alone."""
        ...

    def initial(
        self, widths: dict[str, int], outputs: int, members: int, rng: np.random.Generator
    ) -> Weights:
        """Weights to begin with."""
        ...

    def hidden(self, environments: int, members: int) -> np.ndarray | None:
        """What a recurrent network begins with."""
        ...

    def __call__(
        self, weights: Weights, given: dict[str, Array], hidden: Array | None
    ) -> tuple[Array, Array | None]:
        """(members, n, outputs) from inputs (..., n, width), and the hidden state after it.

        A network that answers for all joints may: the joint mask picks from its outputs.
        """
        ...


def layers(
    name: str,
    sizes: Sequence[int],
    members: int,
    rng: np.random.Generator,
    silent: bool = False,
) -> Weights:
    """Weights of dense layers; where `silent` the last begins at zero, and so does the output."""
    found = {}
    for i, (inside, outside) in enumerate(pairwise(sizes)):
        edge = 0.0 if silent and i == len(sizes) - 2 else 1 / np.sqrt(inside)
        found[f"{name}.{i}.weight"] = rng.uniform(-edge, edge, (members, outside, inside))
        found[f"{name}.{i}.bias"] = np.zeros((members, 1, outside))
    return found


def dense(weights: Weights, name: str, x: Array, last: bool = False) -> Array:
    """Dense layers with ELU between them, and after the last where `last`."""
    depth = sum(key.startswith(f"{name}.") and key.endswith(".bias") for key in weights)
    for i in range(depth):
        x = x @ transposed(weights[f"{name}.{i}.weight"]) + weights[f"{name}.{i}.bias"]
        x = elu(x) if last or i < depth - 1 else x
    return x


def joint_layers(
    name: str,
    sizes: Sequence[int],
    members: int,
    joints: int,
    rng: np.random.Generator,
    silent: bool = False,
) -> Weights:
    """Weights (members, J, ...) of dense layers of each joint's own; see `layers`."""
    flat = layers(name, sizes, members * joints, rng, silent)
    return {k: v.reshape(members, joints, *v.shape[1:]) for k, v in flat.items()}


@lru_cache
def columns_of_joints(inputs: Inputs, total: int) -> np.ndarray:
    """(J, seen) the columns that each joint sees among `total`: its own, and those of no joint."""
    signals = [*inputs.now, *inputs.past * inputs.history]
    shared = sum(width(s, 0, 0) for s in signals if s not in PER_JOINT)
    joints = (total - shared) // sum(s in PER_JOINT for s in signals)
    at, found = 0, []
    for signal in signals:
        wide = width(signal, joints, joints)
        columns = np.arange(at, at + wide)
        found.append(columns[:, None] if signal in PER_JOINT else np.tile(columns, (joints, 1)))
        at += wide
    return np.concatenate(found, axis=1)
