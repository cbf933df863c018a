"""What lets a stopped fit resume: the best point of each stage, in a file beside the result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gapless.artifact import read_json, write_json
from gapless.errors import GaplessError
from gapless.identification.optimisers.gauss_newton import Iterate
from gapless.identification.problem.problem import Problem
from gapless.measurement.windows import Windows


class FitCheckpoint:
    """Progress by stage, kept in a file.

    Args:
        path: where; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self._question = path, ""
        self._stages: dict[str, Any] = {}
        if path is not None and path.exists():
            self._stages = self._read(path)

    def asking(self, *question: Any) -> FitCheckpoint:
        """The same file, for fits that are made in this way (optimiser, options, ...)."""
        twin = copy(self)
        plain = [q.tolist() if isinstance(q, np.ndarray) else q for q in question]
        twin._question = json.dumps(plain, sort_keys=True, default=str)
        return twin

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            data = read_json(path)
            return dict(data["stages"])
        except (GaplessError, KeyError, TypeError, ValueError):
            return {}  # a damaged checkpoint is a fresh start, not a failure

    def stage(self, name: str, problem: Problem) -> Iterate | None:
        """How far a stage came, if it was the same problem."""
        kept = self._stages.get(name)
        if not isinstance(kept, dict) or kept.get("problem") != self._key(problem):
            return None
        z = np.array(kept["z"], float)
        if z.shape != (len(problem),) or not np.isfinite(z).all():
            return None
        return Iterate(
            z,
            float(kept["cost"]),
            float(kept["error"]),
            int(kept["iteration"]),
            list(kept["history"]),
            bool(kept["done"]),
            float(kept["noise"]),
            [bool(t) for t in kept["identifiable"]],
        )

    def _key(self, problem: Problem) -> str:
        return fingerprint(problem, self._question)

    def keep(self, name: str, problem: Problem, progress: Iterate) -> None:
        """Write how far a stage has come; the file is whole at every moment."""
        self._stages[name] = {
            "problem": self._key(problem),
            "z": progress.z.tolist(),
            "values": dict(
                zip(
                    (p.name for p in problem.parameters),
                    problem.values(progress.z).tolist(),
                    strict=True,
                )
            ),
            "cost": progress.cost,
            "error": progress.error,
            "iteration": progress.iteration,
            "history": progress.history,
            "done": progress.done,
            "noise": progress.noise,
            "identifiable": progress.identifiable,
        }
        if self.path is not None:
            write_json(self.path, {"format": "gapless identify progress 1", "stages": self._stages})

    def clear(self) -> None:
        """The result is written; the checkpoint has served."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


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
