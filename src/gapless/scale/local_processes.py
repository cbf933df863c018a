"""Workers that are processes of this machine, one thread each; a lost one is replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from gapless.errors import WorkerError
from gapless.processor_share import VARIABLE
from gapless.progress import Progress, Watch
from gapless.scale.task_answers import RETRIES, Answer
from gapless.tasks import Failures, FileTask, TaskReporter

ONE_THREAD = {VARIABLE: "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
COMMAND = (sys.executable, "-m", "gapless.scale.worker_process")


@dataclass(frozen=True)
class LocalProcesses:
    """Processes of this machine.

    Attributes:
        count: tasks that run at once.
    """

    count: int

    def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
        """Do all tasks."""
        failed, reporter = Failures(), TaskReporter(watch, len(tasks))
        with _crew(min(self.count, len(tasks)), tasks) as events:
            while reporter.done < len(tasks):
                task, event = events.get()
                if isinstance(event, Progress):
                    reporter.told(task.name, event)
                    continue
                if isinstance(event, Exception):
                    raise event
                if refused := event.accept():
                    failed[task.name] = refused
                reporter.finished(task.name)
        return failed


Events = SimpleQueue[tuple[FileTask, Progress | Answer | Exception]]


@contextmanager
def _crew(count: int, tasks: Sequence[FileTask]) -> Iterator[Events]:
    """So many threads with a process each; what they do ends when whoever listens leaves."""
    orders: SimpleQueue[FileTask] = SimpleQueue()
    for task in tasks:
        orders.put(task)
    events: Events = SimpleQueue()
    hands = [_Hand(orders, events) for _ in range(count)]
    try:
        for hand in hands:
            hand.start()
        yield events
    finally:
        for hand in hands:
            hand.stop()
        for hand in hands:
            hand.join()


class _Hand(threading.Thread):
    """Gives tasks to a process of its own, and tells what it answers."""

    def __init__(self, orders: SimpleQueue[FileTask], events: Events) -> None:
        super().__init__(daemon=True)
        self._orders, self._events = orders, events
        self._process: subprocess.Popen[str] | None = None
        self._ended = threading.Event()
        self._starting = threading.Lock()

    def run(self) -> None:
        """Until there are no more tasks."""
        while not self._ended.is_set():
            try:
                task = self._orders.get_nowait()
            except Empty:
                return
            try:
                self._events.put((task, self._answer(task)))
            except Exception as error:  # told by the thread that listens
                self._events.put((task, error))

    def stop(self) -> None:
        """End the process, whatever it does: what it has not finished is absent."""
        self._ended.set()
        with self._starting:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _answer(self, task: FileTask) -> Answer:
        """A lost process is replaced, and the task done again."""
        code = None
        for _ in range(1 + RETRIES):
            try:
                return self._asked(task)
            except (EOFError, BrokenPipeError, json.JSONDecodeError):  # cut short
                code = self._process.wait() if self._process else None
                self._process = None
                if self._ended.is_set():
                    break
        raise WorkerError(
            f"{task.name}: {1 + RETRIES} processes that did it were lost (exit code {code}); is "
            "there enough memory? The same command goes on with what is finished"
        )

    def _asked(self, task: FileTask) -> Answer:
        """Ask the process, and hand on what it tells meanwhile."""
        process = self._its_process()
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(task.to_dict()) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "answer" in message:
                return Answer(**message["answer"])
            self._events.put((task, Progress(**message["told"])))
        raise EOFError

    def _its_process(self) -> subprocess.Popen[str]:
        with self._starting:
            if self._ended.is_set():
                raise EOFError
            if self._process is None:
                self._process = subprocess.Popen(
                    COMMAND,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=os.environ | ONE_THREAD,
                    start_new_session=True,  # Ctrl-C is told by this process alone
                )
            return self._process
