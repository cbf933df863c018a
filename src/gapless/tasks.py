"""Tasks: work that is a pure function of files, and the Workers that do it, wherever they are."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from gapless.errors import DataError, GaplessError, TaskError
from gapless.progress import Progress, ProgressReporter, Watch

TOLD_EVERY = 2.0
"""Seconds between two events from inside tasks, of which many run at once."""
NAMED = 5
"""Failed tasks that a message quotes."""


@dataclass(frozen=True)
class FileTask:
    """Work that depends on nothing but its arguments and the files that it reads.

    Attributes:
        name: of the work, for progress and messages; no other task of a run has it.
        function: "module:function", called with arguments, inputs, out and watch.
        arguments: plain JSON values.
        inputs: files and folders that it reads, by name; a worker may have them elsewhere.
        out: file or folder that it makes, complete or absent, or goes on with.
    """

    name: str
    function: str
    arguments: dict[str, Any]
    inputs: Mapping[str, Path]
    out: Path

    def __post_init__(self) -> None:
        try:
            plain = json.loads(json.dumps(self.arguments, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise DataError(f"arguments of task {self.name!r} are no plain JSON: {error}") from None
        object.__setattr__(self, "arguments", plain)  # the same wherever it runs
        object.__setattr__(self, "inputs", {k: Path(v).absolute() for k, v in self.inputs.items()})
        object.__setattr__(self, "out", Path(self.out).absolute())

    def do(self, watch: Watch) -> None:
        """Do the work, here."""
        module, _, name = self.function.partition(":")
        getattr(import_module(module), name)(self.arguments, dict(self.inputs), self.out, watch)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        places = {k: str(v) for k, v in self.inputs.items()}
        return {**vars(self), "inputs": places, "out": str(self.out)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FileTask:
        """Inverse of `to_dict`."""
        places = {k: Path(v) for k, v in data["inputs"].items()}
        return cls(**{**data, "inputs": places, "out": Path(data["out"])})


Failures = dict[str, str]
"""Name of a task that failed by its own fault -> what it said."""


class Workers(Protocol):
    """Whoever does tasks: this process, others of this machine, or a cluster."""

    def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
        """Do all tasks; one that fails does not stop the others.

        Raises:
            WorkerError: a machine was lost again and again.
        """
        ...


@dataclass(frozen=True)
class InProcess:
    """This process does one task after the other."""

    def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
        """Do all tasks."""
        failed, reporter = Failures(), TaskReporter(watch, len(tasks))
        for task in tasks:
            try:
                task.do(lambda now, task=task: reporter.told(task.name, now))
            except GaplessError as error:
                if len(tasks) == 1:
                    raise  # nothing else is waited for
                failed[task.name] = str(error)
            reporter.finished(task.name)
        return failed


@dataclass
class TaskReporter:
    """Tells a watch how many tasks are done, and now and then how far one of them is.

    Attributes:
        watch: told; None tells nobody.
        total: tasks in all.
        done: those that ended.
    """

    watch: Watch | None
    total: int
    done: int = 0
    _last: float = field(default=-1e9, repr=False)

    def __post_init__(self) -> None:
        self._reporter = ProgressReporter(self.watch, "tasks", self.total)

    def told(self, name: str, now: Progress) -> None:
        """A task told something."""
        if self.watch is None:
            return
        if self.total == 1:
            self.watch(now)
        elif time.monotonic() - self._last >= TOLD_EVERY:
            self._last = time.monotonic()
            count = self._reporter.at(self.done, now.figures)
            self.watch(replace(count, stage=now.within(name).stage))

    def finished(self, name: str) -> None:
        """A task ended, well or not."""
        self.done += 1
        if self.total > 1:
            self._reporter.tell(self.done)


def require(failed: Failures, what: str = "tasks") -> None:
    """Tell the errors of tasks as one of the user's.

    Raises:
        TaskError: some failed.
    """
    if not failed:
        return
    told = [f"{name}: {text}" for name, text in failed.items()][:NAMED]
    more = f"\nand {len(failed) - NAMED} more" if len(failed) > NAMED else ""
    raise TaskError(
        f"{len(failed)} {what} failed; the others are kept, and the same command makes what is "
        "missing\n" + "\n".join(told) + more
    )
