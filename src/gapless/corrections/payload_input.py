"""Whether a network looks at the mass that is carried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gapless.corrections.models import MODELS
from gapless.errors import DataError
from gapless.recordings.recording import Recording, Recordings
from gapless.recordings.split import NAMED


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


def refuse_unstated(settings: Mapping[str, Any], test: Recordings) -> None:
    """Refuse, before the work starts, held-out recordings that a model could not be judged by.

    What tests decides nothing, so a model that looks at the payload is not made blind for it.

    Args:
        settings: of the model.
        test: recordings that are reported on.
    """
    looks = settings.get("payload") or "payload" in settings.get("now", ())
    silent = [r.name for r in test if looks and r.conditions.payload_mass is None]
    if silent:
        raise DataError(
            f"{len(silent)} held-out recordings ({', '.join(silent[:NAMED])}) do not say what was "
            "carried; those that teach and choose do, so the correction looks at it. State it at "
            "import (--payload), hold out others (--test), or leave these out"
        )
