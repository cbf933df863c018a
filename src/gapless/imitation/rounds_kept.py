"""Progress of an imitation: what was learned, and the samples of each round in their own file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gapless.errors import ArtifactError
from gapless.imitation.samples import Samples
from gapless.imitation.student_learning import StudentLearning
from gapless.learning.checkpoint import Checkpoint


class RoundsKept:
    """Files beside a student that is not finished.

    Args:
        path: of what was learned; None keeps nothing. Samples are in files of like names.
        question: what the result depends on.
        restart: forget earlier progress.
    """

    def __init__(self, path: Path | None, question: dict[str, Any], restart: bool = False) -> None:
        self._path, self._question = path, question
        self._learned = Checkpoint(path, question, precious=True)
        if restart:
            self.clear()
        self._before = self._learned.load()

    @property
    def rounds(self) -> int:
        """That are done."""
        return len(self._before[1]["course"]) if self._before else 0

    def samples(self) -> list[Samples]:
        """Those of the rounds that are done."""
        return [self._read(part) for part in range(self.rounds)]

    def restore(self, learning: StudentLearning) -> list[dict[str, Any]]:
        """Go on where an imitation was stopped; gives the course of its rounds."""
        if self._before is None:
            return []
        arrays, facts = self._before
        learning.restore(arrays)
        return list(facts["course"])

    def keep_samples(self, part: int, samples: Samples) -> None:
        """Those of a round, before they are learned from."""
        self._of_round(part).keep(samples.arrays(), {})

    def keep(self, learning: StudentLearning, course: list[dict[str, Any]]) -> None:
        """A round is done."""
        self._learned.keep(learning.arrays(), {"course": course})

    def clear(self) -> None:
        """The result is written, or to be made anew."""
        self._learned.clear()
        for file in self._files():
            file.unlink(missing_ok=True)

    def _read(self, part: int) -> Samples:
        kept = self._of_round(part)
        found = kept.load()
        if found is None:
            raise ArtifactError(
                f"{kept.path} is gone, the samples of round {part}: restore the file, or start "
                "over with --restart (in Python restart=True)"
            )
        return Samples(**found[0])

    def _of_round(self, part: int) -> Checkpoint:
        path = self._path and self._path.with_name(f"{self._path.name}.{part}")
        return Checkpoint(path, self._question, precious=True)

    def _files(self) -> list[Path]:
        if self._path is None or not self._path.parent.is_dir():
            return []
        name = self._path.name
        return [
            p
            for p in self._path.parent.iterdir()
            if p.name.startswith(f"{name}.") and p.name.removeprefix(f"{name}.").isdigit()
        ]
