"""Whether a network looks at the mass that is carried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gapless.corrections.models import MODELS
from gapless.recordings.recording import Recording


def payload_inputs(
    model: str, recordings: Iterable[Recording], wanted: bool = True
) -> dict[str, Any]:
    """Settings with which a model looks at the payload, where that tells recordings apart.

    Args:
        model: its name.
        recordings: every one must state what it carries, and some must carry something.
        wanted: False never looks.
    """
    masses = [r.conditions.payload_mass for r in recordings]
    seen = wanted and None not in masses and any(masses)
    if model == "operator":
        return {"payload": seen}
    if not seen or model not in MODELS:
        return {}
    return {"now": (*MODELS[model]().now, "payload")}  # type: ignore[attr-defined]
