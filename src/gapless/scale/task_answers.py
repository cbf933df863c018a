"""What a worker answers about a task: it is done, it was refused, or gapless has a defect."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

from gapless.errors import GaplessError
from gapless.progress import Progress, Watch
from gapless.tasks import FileTask

RETRIES = 3
"""How often a task is done again because its machine was lost; never for its own errors."""


class RemoteDefectError(Exception):
    """A defect of gapless that showed in a worker; the text is its traceback."""


@dataclass(frozen=True)
class Answer:
    """How a task ended.

    Attributes:
        refused: its own error, as a user is told it; "" where it went well.
        defect: traceback of an error that is none of the user's.
    """

    refused: str = ""
    defect: str = ""

    def accept(self) -> str:
        """What went wrong by the task's own fault.

        Raises:
            RemoteDefectError: of gapless, in the worker.
        """
        if self.defect:
            raise RemoteDefectError(self.defect)
        return self.refused


def attempt(task: FileTask, watch: Watch) -> Answer:
    """Do a task in a worker; whatever it raises becomes an answer, which any process can read."""
    try:
        task.do(watch)
    except GaplessError as error:
        return Answer(refused=str(error) or type(error).__name__)
    except Exception:
        return Answer(defect=traceback.format_exc())
    return Answer()


def as_plain(now: Progress) -> dict[str, Any]:
    """An event as plain JSON types; what only this process knows of it is left out."""
    figures = {k: float(v) for k, v in now.figures.items()}
    return {"stage": now.stage, "done": now.done, "total": now.total, "figures": figures}
