"""An earlier split: its motions are known again by what they command, whatever they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gapless.recordings.command_print import CommandPrint, LoggedCommand
from gapless.recordings.recording import Recording
from gapless.recordings.split import PARTS, Split
from gapless.recordings.unit_names import unit

TEACHING = ("learn", "choose")


def remembered(split: Split) -> dict[str, Any]:
    """The facts of a split for those who come later: also what was commanded.

    Kept are the fingerprints of what taught or chose, and short hashes of all commands: the very
    same recordings are told apart even where their commands are nearly alike.
    """
    hashes = {
        part: sorted({LoggedCommand.of(r).digest for r in own} - {""})
        for part, own in split.parts.items()
    }
    prints = [found.to_dict() for found in _prints(split)]
    return {**split.to_dict(), "commands": {"hashes": hashes, "prints": prints}}


def _prints(split: Split) -> list[CommandPrint]:
    """Of every command that taught or chose, the longest first; each once."""
    found: list[CommandPrint] = []
    taken = sorted(_taught(split), key=lambda one: -len(one[2]))
    for part, motion, recording in taken:
        command = LoggedCommand.of(recording)
        known = (
            p for p in found if p.part == part and motion in (p.motion, None) and p.fits(command)
        )
        own = None if any(known) else CommandPrint.of(command, part, motion or recording.name)
        if own is not None:
            found.append(own)
    return found


def _taught(split: Split) -> Iterator[tuple[str, str | None, Recording]]:
    """Part, motion where folds tell it, and recording of all that taught or chose."""
    if split.cross_validated:
        for fold, motion in zip(split.folds, split.motions["learn"], strict=True):
            yield from (("learn", motion, r) for r in fold.choose)
        return
    for part in TEACHING:
        yield from ((part, None, r) for r in split.parts[part])


class EarlierSplit:
    """What is known of an earlier split (see `remembered`).

    Args:
        facts: files of earlier versions have no commands; names alone decide there.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.facts, kept = facts, facts.get("commands", {})
        self._hashes = {part: frozenset(own) for part, own in kept.get("hashes", {}).items()}
        self._prints = [CommandPrint.from_dict(one) for one in kept.get("prints", ())]

    @property
    def units(self) -> set[str]:
        """That taught or chose, where units were held out; else empty."""
        units = self.facts.get("units", {})
        return {name for part in TEACHING for name in units.get(part, ())}

    def parts_of(self, recording: Recording) -> set[str]:
        """In which parts its command was; empty where it is new."""
        command = LoggedCommand.of(recording)
        same = {part for part, own in self._hashes.items() if command.digest in own}
        if same:
            return same
        named = {part for part in PARTS if command.asked.stated in self.facts[part]}
        return named | {p.part for p in self._prints if p.fits(command)}

    def taught(self, recording: Recording) -> set[str]:
        """Whether it taught or chose; where units were held out, only those of the others did."""
        if self.units and unit(recording) not in self.units:
            return set()
        return self.parts_of(recording) & set(TEACHING)

    def among(self, recordings: Sequence[Recording], labels: Sequence[str]) -> dict[str, set[str]]:
        """Part -> its motions as these recordings call them, each in the first that it was in.

        Args:
            recordings: of any motions.
            labels: the motion of each.
        """
        parts: dict[str, set[str]] = {}
        for recording, label in zip(recordings, labels, strict=True):
            parts.setdefault(label, set()).update(self.parts_of(recording))
        first = {label: next((p for p in PARTS if p in own), "") for label, own in parts.items()}
        return {part: {label for label, own in first.items() if own == part} for part in PARTS}

    def leaks(self, split: Split) -> list[str]:
        """Recordings that taught and would choose, or taught or chose and would test."""
        chosen = [r.name for r in split.choose if "learn" in self.parts_of(r)]
        return [*chosen, *(r.name for r in split.test if self.taught(r))]

    def order(self, split: Split) -> list[int]:
        """Which of the folds of a split is of each earlier learning motion; [] where they differ.

        By name where commands do not tell.
        """
        before, now = list(self.facts["learn"]), list(split.motions["learn"])
        found = [self._nearest(fold.choose[0]) for fold in split.folds]
        for called in (found, now):
            if sorted(called) == sorted(before):
                return [called.index(motion) for motion in before]
        return []

    def _nearest(self, recording: Recording) -> str:
        command = LoggedCommand.of(recording)
        near = [(p.distance(command), p.motion) for p in self._prints if p.fits(command)]
        return min(near, default=(0.0, ""))[1]
