"""A worker process: reads tasks from standard input, a JSON line each, and answers in lines.

Started by `local_processes.py`; when whoever started it is gone, it ends at once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict
from queue import SimpleQueue
from typing import TextIO

from gapless.scale.task_answers import as_plain, attempt
from gapless.tasks import FileTask


def main() -> None:
    """Do tasks until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    while True:
        task = FileTask.from_dict(json.loads(orders.get()))
        answer = attempt(task, lambda now: _say(answers, told=as_plain(now)))
        _say(answers, answer=asdict(answer))


def _listen(orders: SimpleQueue[str]) -> None:
    """Hand on what is ordered; the end of it is the end of this process, whatever it does."""
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


def _say(answers: TextIO, **message: object) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
