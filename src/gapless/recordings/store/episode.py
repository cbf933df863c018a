"""An Episode: what is known about a stored recording without loading its samples."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapless.errors import DataError
from gapless.recordings.conditions import Conditions
from gapless.recordings.recording import Recording, flags_of


@dataclass(frozen=True)
class Episode:
    """One recording of a dataset.

    Attributes:
        index: number of the episode in the store it comes from.
        name: the motion.
        frames: number of samples.
        conditions: payload, unit, gains, mount.
        provenance: source, importer, what was masked and moved.
        masked: number of joint samples that may not be used.
    """

    index: int
    name: str
    frames: int
    conditions: Conditions = field(default_factory=Conditions)
    provenance: dict[str, Any] = field(default_factory=dict)
    masked: int = 0

    @classmethod
    def of(cls, index: int, recording: Recording) -> Episode:
        """The facts of a recording in memory."""
        masked = int(np.size(recording.mask) - np.count_nonzero(recording.mask))
        return cls(
            index,
            recording.name,
            len(recording),
            recording.conditions,
            recording.provenance,
            masked,
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """Why the import called it unfit for learning and measuring; empty where it is fit."""
        return flags_of(self.provenance)

    def to_json(self) -> str:
        """The text of the episode column "gapless"."""
        facts = {
            "name": self.name,
            "conditions": self.conditions.to_dict(),
            "provenance": _plain(self.provenance),
            "masked": self.masked,
        }
        try:
            return json.dumps(facts, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"recording {self.name!r}: conditions and provenance must be plain JSON values "
                f"(text, finite numbers, lists, dicts): {error}"
            ) from error

    @classmethod
    def from_json(cls, index: int, frames: int, text: str) -> Episode:
        """Inverse of `to_json`; raises ValueError, KeyError or TypeError on damaged text."""
        facts = json.loads(text)
        conditions = Conditions.from_dict(facts["conditions"])
        return cls(
            index, facts["name"], frames, conditions, facts["provenance"], int(facts["masked"])
        )


def _plain(value: Any) -> Any:
    """NumPy values as Python ones; a number that does not exist (NaN, infinity) as None."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
