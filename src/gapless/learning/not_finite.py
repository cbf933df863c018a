"""The guard against learning from what is no number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch

from gapless.errors import GaplessError


class NotFiniteError(GaplessError):
    """A figure or a weight that is no number; the weights before it are kept."""


MOST_NOISE = 20.0
"""Standard deviation of actions, in their own unit, beyond which a training has run away."""


def refuse_not_finite(
    figures: Mapping[str, float], models: Iterable[torch.nn.Module], iteration: int
) -> None:
    """Stop where a figure or anything that models keep is no number, or noise has exploded."""
    lost = [k for k, v in figures.items() if not math.isfinite(v)]
    kept = (item for model in models for item in model.state_dict().items())
    lost += [k for k, v in kept if not bool(torch.isfinite(v).all())]
    if figures.get("noise", 0.0) > MOST_NOISE:
        lost += [f"noise {figures['noise']:.3g} (more than {MOST_NOISE:g})"]
    if lost:
        told = ", ".join(f"{k} {v:.3g}" for k, v in figures.items())
        raise NotFiniteError(
            f"{', '.join(lost[:3])} is not finite, or has run away, in iteration {iteration} "
            f"({told}). What was kept before it stays; from the start with a smaller rate or noise "
            "it may end well, where what it learns from has no fault"
        )
