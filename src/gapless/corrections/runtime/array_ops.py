"""The few operations that networks need, on NumPy arrays and torch tensors alike.

A network is written once: torch trains it, NumPy runs it where there is no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
"""A NumPy array, or a torch tensor."""


def concat(parts: Sequence[Array]) -> Array:
    """Join along the last axis; leading axes broadcast."""
    if isinstance(parts[0], np.ndarray):
        shape = np.broadcast_shapes(*(p.shape[:-1] for p in parts))
        return np.concatenate([np.broadcast_to(p, (*shape, p.shape[-1])) for p in parts], axis=-1)
    import torch

    shape = torch.broadcast_shapes(*(p.shape[:-1] for p in parts))
    return torch.cat([p.expand(*shape, p.shape[-1]) for p in parts], dim=-1)


def elu(x: Array) -> Array:
    """The exponential linear unit."""
    if isinstance(x, np.ndarray):
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    import torch

    return torch.nn.functional.elu(x)


def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return np.tanh(x) if isinstance(x, np.ndarray) else x.tanh()


def sigmoid(x: Array) -> Array:
    """The logistic function."""
    return 0.5 * (1 + np.tanh(0.5 * x)) if isinstance(x, np.ndarray) else x.sigmoid()


def clip(x: Array, low: Array, high: Array) -> Array:
    """Values within bounds."""
    return np.clip(x, low, high) if isinstance(x, np.ndarray) else x.clamp(low, high)


def length(x: Array) -> Array:
    """Euclidean length along the last axis."""
    return np.linalg.norm(x, axis=-1) if isinstance(x, np.ndarray) else x.norm(dim=-1)


def transposed(x: Array) -> Array:
    """The last two axes swapped."""
    return np.swapaxes(x, -1, -2) if isinstance(x, np.ndarray) else x.transpose(-1, -2)


def like(values: np.ndarray, other: Array) -> Array:
    """NumPy values in the kind and precision of another array."""
    if isinstance(other, np.ndarray):
        return values
    import torch

    return torch.as_tensor(values, dtype=other.dtype, device=other.device)
