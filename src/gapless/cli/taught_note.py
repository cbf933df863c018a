"""Which recordings taught what they are measured with: such figures are not held-out ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gapless.recordings.earlier_split import TEACHING, EarlierSplit
from gapless.recordings.recording import Recording
from gapless.recordings.split import NAMED, distinct


@dataclass(frozen=True)
class Taught:
    """What recordings did for a calibration and corrections.

    Attributes:
        names: learn and choose -> recordings.
        held_out: how many did neither.
    """

    names: dict[str, list[str]]
    held_out: int

    @classmethod
    def of(cls, recordings: Iterable[Recording], splits: Iterable[Mapping[str, Any]]) -> Taught:
        """Found by what was commanded.

        Args:
            recordings: that are measured.
            splits: what the calibration and each correction keep of theirs.
        """
        before = [EarlierSplit(facts) for facts in splits if facts]
        names, held_out = {part: list[str]() for part in TEACHING}, 0
        for recording in recordings:
            did = set[str]().union(*(one.taught(recording) for one in before))
            held_out += not did
            for part in did:
                names[part].append(recording.name)
        return cls(names, held_out)

    @property
    def note(self) -> str:
        """What people should know; empty where everything is held out."""
        learn, choose = (self.names[part] for part in TEACHING)
        if not learn and not choose:
            return ""
        some = ", ".join(distinct([*learn, *choose])[:NAMED])
        return (
            f"the motions of {len(learn)} recordings here taught, and of {len(choose)} chose, what "
            f"is measured ({some}); {self.held_out} are held out. This is not a held-out error: "
            "that is what gapless identify and correct print, and what other motions show"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**self.names, "held_out": self.held_out, "note": self.note}
