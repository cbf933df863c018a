"""A Split: which recordings teach, which decide, and which are only reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gapless.errors import DataError
from gapless.recordings.motion_identity import motions_of
from gapless.recordings.recording import Recordings

PARTS = ("learn", "choose", "test")
NAMED = 3
"""Motions that a message names."""


@dataclass(frozen=True)
class Fold:
    """What is learned from and what is chosen by; no motion is in both."""

    learn: Recordings
    choose: Recordings


@dataclass(frozen=True)
class Split:
    """Recordings by their use. No motion, or stretch of time, is in two parts.

    Attributes:
        learn: teach.
        choose: decide which round, which setting, and whether a step is kept; empty where the
            learning motions choose in turn (see `folds`).
        test: are only reported.
        folds: one of `learn` and `choose`; where motions are few, one for each learning motion,
            which chooses for what was learned from the others; none where nothing can choose.
        motions: part -> its motions.
        notes: what people should know about it.
        units: part -> its units, where units are held out instead of motions; else empty.
    """

    learn: Recordings
    choose: Recordings
    test: Recordings
    folds: tuple[Fold, ...]
    motions: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, learn: Recordings, choose: Recordings = (), test: Recordings = ()) -> Split:
        """A split that somebody else made; a motion in two parts is refused."""
        parts = [learn, choose, test]
        labels = motions_of_parts(parts)
        refuse_leaks(labels)
        named = {part: distinct(own) for part, own in zip(PARTS, labels, strict=True)}
        folds = (Fold(learn, choose),) if len(choose) else ()
        return cls(learn, choose, test, folds, named)

    @property
    def cross_validated(self) -> bool:
        """Whether the learning motions choose in turn."""
        return len(self.folds) > 1

    @property
    def parts(self) -> dict[str, Recordings]:
        """The recordings by the names of their parts."""
        return dict(zip(PARTS, (self.learn, self.choose, self.test), strict=True))

    def without_test(self) -> Split:
        """The same with nothing to report on: what a method may see."""
        units = {**self.units, "test": ()} if self.units else {}
        return replace(self, test=(), motions={**self.motions, "test": ()}, units=units)

    def each(self, change: Callable[[Recordings], Recordings]) -> Split:
        """The same with the recordings of every part changed."""
        return replace(
            self,
            learn=change(self.learn),
            choose=change(self.choose),
            test=change(self.test),
            folds=tuple(Fold(change(f.learn), change(f.choose)) for f in self.folds),
        )

    def to_dict(self) -> dict[str, Any]:
        """Which motion, and where it is by unit which unit, did what, as plain JSON types."""
        choosing = "cross-validation" if self.cross_validated else "motions"
        named = {part: list(self.motions[part]) for part in PARTS}
        units = {part: list(own) for part, own in self.units.items()}
        held_out = {"by": "unit", "units": units} if units else {}
        return {**named, "choosing": choosing if self.folds else "none", **held_out}


def refuse_leaks(labels: Sequence[Sequence[str]]) -> None:
    """What was commanded must not be in two parts.

    Args:
        labels: motions (see `motions_of`) of the recordings of each part.
    """
    for i, some in enumerate(labels):
        for others in labels[i + 1 :]:
            shared = sorted(set(some) & set(others))
            if shared:
                raise DataError(
                    f"{len(shared)} motions are in two parts of the split "
                    f"({', '.join(shared[:NAMED])}): the same was commanded in both, so figures "
                    "on them would mean nothing. Let gapless split the recordings, or part them "
                    "by what was commanded"
                )


def motions_of_parts(parts: Sequence[Recordings]) -> list[list[str]]:
    """Motions of the recordings of each part, found over all of them."""
    every = [recording for part in parts for recording in part]
    names = iter(motions_of(every))
    return [[next(names) for _ in range(len(part))] for part in parts]


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(names))
