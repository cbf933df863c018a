"""The guard against learning from what is no number."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from gapless.errors import GaplessError


class NotFiniteError(GaplessError):
    """A figure or a weight that is no number; the weights before it are kept."""


def refuse_not_finite(figures: Mapping[str, float], model: torch.nn.Module, iteration: int) -> None:
    """Stop where a figure or a weight of a model is no number."""
    lost = [k for k, v in figures.items() if not math.isfinite(v)]
    lost += [k for k, v in model.named_parameters() if not bool(torch.isfinite(v).all())]
    if lost:
        told = ", ".join(f"{k} {v:.3g}" for k, v in figures.items())
        raise NotFiniteError(
            f"{', '.join(lost[:3])} is not finite in iteration {iteration} ({told}). The last good "
            "weights are kept: use a smaller rate or noise, or check the recordings"
        )
