"""Trainers: ways to find the weights of a correction, by name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gapless.corrections.training.trainer import Trainer as Trainer
from gapless.corrections.training.trainer import TrainingSession as TrainingSession
from gapless.errors import GaplessError, unknown

TRAINERS = {
    "gradient": "Gradient",
    "inverse": "Inverse",
    "autoregressive": "Autoregressive",
    "ppo": "Ppo",
}
"""Name (of its module) -> class."""


def trainer_of(name: str, settings: dict[str, Any] | None = None) -> Trainer:
    """A trainer by name, with other settings than its own where they are given."""
    if name not in TRAINERS:
        raise unknown("trainer", name, TRAINERS)
    try:
        module = import_module(f"gapless.corrections.training.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("gapless"):
            raise
        raise GaplessError(
            f"training needs {error.name}, which is not installed: pip install 'gapless[learn]'"
        ) from error
    kind, settings = getattr(module, TRAINERS[name]), settings or {}
    for key in settings:
        if key not in kind.__dataclass_fields__:
            raise unknown(f"setting of the {name} trainer", key, kind.__dataclass_fields__)
    return kind(**settings)
