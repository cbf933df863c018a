"""Tracking: motions become policies, and policies are tuned in corrected simulators."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.tracking.train_settings import TrainSettings as TrainSettings
    from gapless.tracking.training import finetune as finetune
    from gapless.tracking.training import train as train

_HOME = {"TrainSettings": "train_settings", "finetune": "training", "train": "training"}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: the page of a loop needs no torch."""
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(import_module(f"gapless.tracking.{_HOME[name]}"), name)
