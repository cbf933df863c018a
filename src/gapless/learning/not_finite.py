"""The guard against learning from what is no number."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from gapless.errors import GaplessError


class NotFiniteError(GaplessError):
    """A figure or a weight that is no number; the weights before it are kept."""


MOST_NOISE = 20.0
"""Standard deviation of actions, in their own unit, beyond which a training has run away."""


def refuse_not_finite(figures: Mapping[str, float], model: torch.nn.Module, iteration: int) -> None:
    """Stop where a figure or a weight of a model is no number, or its noise has exploded."""
    lost = [k for k, v in figures.items() if not math.isfinite(v)]
    lost += [k for k, v in model.named_parameters() if not bool(torch.isfinite(v).all())]
    if figures.get("noise", 0.0) > MOST_NOISE:
        lost += [f"noise {figures['noise']:.3g} (more than {MOST_NOISE:g})"]
    if lost:
        told = ", ".join(f"{k} {v:.3g}" for k, v in figures.items())
        raise NotFiniteError(
            f"{', '.join(lost[:3])} is not finite, or has run away, in iteration {iteration} "
            f"({told}). The last good weights are kept: use a smaller rate or noise, or check the "
            "recordings"
        )
