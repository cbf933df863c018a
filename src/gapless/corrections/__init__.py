"""Corrections: learned functions that add what no parameter expresses.

`runtime/` runs a correction and `models/` are its networks, both with NumPy alone; `training/`
finds the weights, with slopes from `linearised/`; `operator/` is what is GAPONet's own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.corrections.corrected_world import CorrectedWorld as CorrectedWorld
    from gapless.corrections.correcting import CorrectionRefusedError as CorrectionRefusedError
    from gapless.corrections.correcting import CorrectSettings as CorrectSettings
    from gapless.corrections.correcting import correct as correct
    from gapless.corrections.runtime.correction import Correction as Correction

_HOME = {
    "CorrectedWorld": "corrected_world",
    "CorrectionRefusedError": "correcting",
    "CorrectSettings": "correcting",
    "correct": "correcting",
    "Correction": "runtime.correction",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: running a correction needs no simulator."""
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(import_module(f"gapless.corrections.{_HOME[name]}"), name)
