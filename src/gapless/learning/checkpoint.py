"""Progress of a training in one file: named arrays and facts, whole at every moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from gapless.artifact import write_bytes_atomic
from gapless.errors import ArtifactError, FormatError


class Checkpoint:
    """Where a training keeps how far it came.

    Args:
        path: file; None keeps nothing.
        question: what the result depends on. Progress of another question is refused.
        restart: forget earlier progress.
        precious: refuse progress that was damaged, hours of work, instead of beginning anew.
    """

    def __init__(
        self,
        path: Path | None,
        question: dict[str, Any] | None = None,
        restart: bool = False,
        precious: bool = False,
    ) -> None:
        self.precious = precious
        # As it is read back: JSON has lists, not tuples.
        self.path, self.question = path, json.loads(json.dumps(question or {}))
        if restart:
            self.clear()

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """Arrays and facts of the last time, or None where there is nothing to resume."""
        if self.path is None or not self.path.exists():
            return None
        try:
            arrays, facts = read_tensors(self.path)
        except FormatError as error:
            if self.precious:
                raise FormatError(
                    f"{error}. It was to hold the progress of a training: restore the file, or "
                    "start over with --restart (in Python restart=True; of a loop, delete it)"
                ) from error
            return None  # where little is lost, a fresh start, not a failure
        before = facts.pop("question", {})
        differing = [
            f"{k} was {before.get(k)!r}, now {self.question.get(k)!r}"
            for k in sorted({*before, *self.question})
            if before.get(k) != self.question.get(k)
        ]
        if differing:
            raise ArtifactError(
                f"{self.path} is the progress of another training: {'; '.join(differing[:4])}. "
                "Asked as before, it resumes; --restart starts over"
            )
        return arrays, facts

    def keep(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Write how far the training has come; the file before stays until this one is whole."""
        if self.path is not None:
            write_tensors(self.path, arrays, {**facts, "question": self.question})

    def clear(self) -> None:
        """The result is written; the checkpoint has served."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def write_tensors(path: Path, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """A safetensors file with facts in its header."""
    # A number of no dimension stays one, which ascontiguousarray alone would not leave it.
    whole = {k: np.ascontiguousarray(v).reshape(np.shape(v)) for k, v in arrays.items()}
    write_bytes_atomic(path, save(whole, {"facts": json.dumps(facts, sort_keys=True)}))


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inverse of `write_tensors`."""
    from safetensors import safe_open

    try:
        arrays = load_file(path)
        with safe_open(path, "np") as file:
            facts = json.loads(file.metadata()["facts"])
        return arrays, facts
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is damaged or no safetensors file: {error}") from error
