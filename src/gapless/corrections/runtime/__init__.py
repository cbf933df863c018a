"""What runs a trained correction: NumPy and safetensors, no simulator, no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gapless.corrections.runtime.correction import Correction as Correction


def __getattr__(name: str) -> Any:
    """Load the correction when it is asked for: its networks import from this package."""
    if name != "Correction":
        raise AttributeError(name)
    from gapless.corrections.runtime.correction import Correction

    return Correction
