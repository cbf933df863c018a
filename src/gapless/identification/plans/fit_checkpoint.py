"""What lets a stopped identification resume to the same bytes: how far each of its fits came.

A fit is kept after each of its rounds with everything that the next one needs, slopes included, and
as a whole when it is done: what resumes computes the very numbers that it would have computed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import file_name
from gapless.errors import FormatError
from gapless.identification.problem.problem import Problem
from gapless.learning.checkpoint import read_tensors, write_tensors
from gapless.measurement.windows import Windows

Kept = tuple[dict[str, np.ndarray], dict[str, Any]]
"""Arrays and facts of a fit."""


class FitCheckpoint:
    """Progress by stage, a file each in a folder of its own.

    Args:
        path: of the folder; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self._question = path, ""
        if path is not None and path.is_file():  # of an earlier version
            path.unlink()

    def asking(self, *question: Any) -> FitCheckpoint:
        """The same folder, for fits that are made in this way (optimiser, options, ...)."""
        twin = copy(self)
        plain = [q.tolist() if isinstance(q, np.ndarray) else q for q in question]
        twin._question = json.dumps(plain, sort_keys=True, default=str)
        return twin

    def within(self, part: str) -> FitCheckpoint:
        """The same for fits of one part of a plan, in a folder of their own."""
        twin = copy(self)
        twin.path = self.path and self.path / named_apart(part)
        return twin

    def load(self, stage: str, problem: Problem) -> Kept | None:
        """How far a stage came, if it was the same problem; a damaged file is a fresh start."""
        file = self._file(stage)
        if file is None or not file.exists():
            return None
        try:
            arrays, facts = read_tensors(file)
        except FormatError:
            return None
        return (arrays, facts) if facts.get("problem") == self._key(problem) else None

    def keep(
        self,
        stage: str,
        problem: Problem,
        arrays: Mapping[str, np.ndarray],
        facts: Mapping[str, Any],
    ) -> None:
        """Write how far a stage has come; the file is whole at every moment."""
        if (file := self._file(stage)) is not None:
            write_tensors(file, dict(arrays), {**facts, "problem": self._key(problem)})

    def clear(self) -> None:
        """The result is written; the checkpoint has served."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)

    def _file(self, stage: str) -> Path | None:
        if self.path is None:
            return None
        return self.path / f"{named_apart(stage)}.safetensors"

    def _key(self, problem: Problem) -> str:
        return fingerprint(problem, self._question)


def named_apart(name: str) -> str:
    """A name for a file that no other name has."""
    return f"{file_name(name)}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def fingerprint(problem: Problem, question: str = "") -> str:
    """What the answer depends on: data, model and the question."""
    parts: Sequence[Any] = (
        [asdict(p) for p in problem.parameters],
        problem.world.identity.key,
        problem.objective,
        problem.prior_weight,
        problem.loss.name,
        [edge.tolist() for edge in problem.boxes],
        question,
        _data_hash(problem.windows),
    )
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _data_hash(windows: Windows) -> str:
    found = hashlib.sha256()
    parts = [*windows.start.fields.values(), *vars(windows.commands).values()]
    for array in (*parts, windows.real.q, windows.weight):
        found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    found.update(json.dumps([c.to_dict() for c in windows.conditions], sort_keys=True).encode())
    return found.hexdigest()
