"""Actors of rsl_rl from weights, and weights from actors."""

from __future__ import annotations

import numpy as np
import torch
from rsl_rl.models import MLPModel
from tensordict import TensorDict

from gapless.errors import DataError
from gapless.learning.adam_state import Arrays
from gapless.policies.mlp_weights import MlpWeights


def weights_of(arrays: Arrays, epsilon: float = 1e-2) -> MlpWeights:
    """The network of an actor, by what `arrays_of` gave of it.

    Args:
        arrays: of the actor.
        epsilon: that its normalisation adds to standard deviations.
    """
    numbers = sorted(
        int(k.split(".")[1]) for k in arrays if k.startswith("mlp.") and k.endswith("weight")
    )
    layers = tuple((arrays[f"mlp.{i}.weight"], arrays[f"mlp.{i}.bias"]) for i in numbers)
    mean, std = arrays.get("obs_normalizer._mean"), arrays.get("obs_normalizer._std")
    if mean is None or std is None:
        return MlpWeights(layers)
    return MlpWeights(layers, mean=mean.reshape(-1), std=std.reshape(-1) + epsilon)


def load_weights(actor: MLPModel, weights: MlpWeights) -> None:
    """Put a network into an actor of its sizes; its normalisation no longer changes.

    Raises:
        DataError: the sizes differ.
    """
    linear = [m for m in actor.mlp.modules() if isinstance(m, torch.nn.Linear)]
    sizes = [tuple(m.weight.shape) for m in linear]
    given = [matrix.shape for matrix, _ in weights.layers]
    if sizes != given:
        raise DataError(f"the network has layers {given}; the actor has {sizes}")
    with torch.no_grad():
        for module, (matrix, bias) in zip(linear, weights.layers, strict=True):
            module.weight.copy_(torch.tensor(np.array(matrix)))
            module.bias.copy_(torch.tensor(np.array(bias)))
        normaliser = actor.obs_normalizer
        width = weights.width
        mean = np.zeros(width) if weights.mean is None else weights.mean
        std = np.ones(width) if weights.std is None else weights.std
        normaliser._mean.copy_(torch.tensor(mean)[None])  # type: ignore[union-attr]
        normaliser._std.copy_(torch.tensor(std)[None] - normaliser.eps)  # type: ignore[union-attr]
        normaliser.until = 0  # type: ignore[union-attr]  # what it learned with stays


def acts(actor: MLPModel, arrays: Arrays, seen: dict[str, np.ndarray]) -> np.ndarray:
    """(n, A) what an actor does without noise, with the weights of `arrays`."""
    actor.load_state_dict({k: torch.tensor(v) for k, v in arrays.items()})
    given = {name: torch.as_tensor(x, dtype=torch.float32) for name, x in seen.items()}
    with torch.inference_mode():
        size = [len(next(iter(given.values())))]
        return actor(TensorDict(given, batch_size=size)).numpy()
