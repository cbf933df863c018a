"""Workers of a Ray cluster; the only file that knows Ray."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gapless.errors import MissingExtraError, WorkerError
from gapless.processor_share import VARIABLE
from gapless.progress import Progress, Watch
from gapless.scale.moved_files import publish
from gapless.scale.orders import Delivery, Order, fulfil
from gapless.scale.task_answers import RETRIES, as_plain
from gapless.tasks import TOLD_EVERY, Failures, FileTask, TaskReporter

OBJECTS = 100 * 2**20
"""Bytes of the object store of a cluster that is started for a command; more goes to the disk."""
AHEAD = 2
"""Orders that wait for each processor: enough to keep it busy, few enough to hold what is moved."""
LOOK_EVERY = 0.5
"""Seconds between two looks at what workers tell."""
CANCELS = 20
"""How often work that goes on is cancelled."""
CALLS = 4
"""How often a cluster elsewhere is called: its head starts a process for every client, and may be
too busy for that once."""
PAUSE = 5.0
"""Seconds between two calls."""
_FAILED_THERE = "Initialization failure from server"
"""What Ray's client says where the head is there and did not manage."""


class RayWorkers:
    """Processors of a Ray cluster, one task and one thread each.

    Attributes:
        address: ray://HOST:PORT; "" is the cluster that runs here, or one that is started.
        moved: bytes that were sent and fetched because a machine did not see them.
    """

    def __init__(self, address: str = "") -> None:
        self.address, self.moved = address, 0

    def run(self, tasks: Sequence[FileTask], watch: Watch | None = None) -> Failures:
        """Do all tasks."""
        failed, reporter = Failures(), TaskReporter(watch, len(tasks))
        if not tasks:
            return failed
        with _connected(self.address) as ray, _beacons(tasks) as token:
            queue = _Queue(ray, [Order.of(task, token) for task in tasks])
            with queue:
                for order, delivery in queue.deliveries(reporter):
                    self.moved += len(delivery.made)
                    if refused := _accepted(order, delivery):
                        failed[order.task.name] = refused
                    reporter.finished(order.task.name)
            self.moved += queue.sent
        return failed


def _accepted(order: Order, delivery: Delivery) -> str:
    """Put what was made at its place; gives what went wrong."""
    assert delivery.answer is not None
    refused = delivery.answer.accept()
    if delivery.made and not refused:
        publish(delivery.made, order.task.out)
    return refused


class _Queue:
    """Orders that wait, and those that are at work; leaving it cancels them."""

    def __init__(self, ray: Any, orders: list[Order]) -> None:
        self._ray, self._waiting = ray, [(order, {}) for order in reversed(orders)]
        self._working: dict[Any, tuple[Order, dict[str, Any]]] = {}
        # A task is done again where its worker or node was lost, never where it raised.
        options = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": False}
        self._do = ray.remote(**options)(_fulfilled)
        self._ear = ray.remote(num_cpus=0, max_restarts=-1)(_Ear).remote()
        self._question: Any = None
        self.sent = 0

    def __enter__(self) -> _Queue:
        return self

    def __exit__(self, *error: object) -> None:
        left = list(self._working)
        for _ in range(CANCELS):  # Ray may miss a task that is just being handed to a worker
            for work in left:
                self._ray.cancel(work, force=True)
            if left:
                _, left = self._ray.wait(left, num_returns=len(left), timeout=LOOK_EVERY)

    def deliveries(self, reporter: TaskReporter) -> Iterator[tuple[Order, Delivery]]:
        """Every order with what came of it, as they come."""
        while self._waiting or self._working:
            self._submit()
            ready, _ = self._ray.wait(list(self._working), timeout=LOOK_EVERY)
            for name, event in self._heard():
                reporter.told(name, Progress(**event))
            for work in ready:
                order, packs = self._working.pop(work)
                delivery = self._fetched(work, order)
                if delivery.answer is None:
                    self._send(order, packs, delivery.unseen)
                else:
                    yield order, delivery

    def _submit(self) -> None:
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        while self._waiting and len(self._working) < AHEAD * max(1, processors):
            order, packs = self._waiting.pop()
            work = self._do.remote(order, self._ear, list(packs), *packs.values())
            self._working[work] = order, packs

    def _send(self, order: Order, packs: dict[str, Any], names: tuple[str, ...]) -> None:
        """Put what a worker does not see into the object store, and order again."""
        for name in names:
            data = order.packed(name)
            self.sent += len(data)
            packs[name] = self._ray.put(data)
        self._waiting.append((order, packs))

    def _fetched(self, work: Any, order: Order) -> Delivery:
        try:
            return self._ray.get(work)
        except self._ray.exceptions.RayError as error:
            told = str(error).strip().splitlines() or [type(error).__name__]
            raise WorkerError(
                f"{order.task.name}: the workers that did it were lost ({told[0]}); the same "
                "command goes on with what is finished"
            ) from error

    def _heard(self) -> list[tuple[str, dict[str, Any]]]:
        """What is new; an answer that is late, as of a busy node, is waited for the next time."""
        asked = self._question or self._ear.heard.remote()
        ready, _ = self._ray.wait([asked], timeout=LOOK_EVERY)
        self._question = None if ready else asked
        try:
            return self._ray.get(asked) if ready else []
        except self._ray.exceptions.RayError:  # its node was lost with what it heard
            return []


class _Ear:
    """Hears how far tasks are, for whoever asks."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, Any]] = {}

    def hear(self, name: str, event: dict[str, Any]) -> None:
        """The newest event of a task counts."""
        self._told[name] = event

    def heard(self) -> list[tuple[str, dict[str, Any]]]:
        """What is new."""
        told, self._told = self._told, {}
        return list(told.items())


def _fulfilled(order: Order, ear: Any, names: list[str], *packs: bytes) -> Delivery:
    """What a worker of Ray does."""
    os.environ[VARIABLE] = "1"
    last = -TOLD_EVERY

    def watch(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= TOLD_EVERY:
            last = time.monotonic()
            ear.hear.remote(order.task.name, as_plain(now))

    return fulfil(order, dict(zip(names, packs, strict=True)), watch)


@contextmanager
def _beacons(tasks: Sequence[FileTask]) -> Iterator[str]:
    """A file in the folder of every output, by which a worker knows that it sees it."""
    token = f".gapless-{secrets.token_hex(8)}"
    with ExitStack() as stack:
        for folder in dict.fromkeys(task.out.parent for task in tasks):
            folder.mkdir(parents=True, exist_ok=True)
            Path(folder, token).touch()
            stack.callback(Path(folder, token).unlink, missing_ok=True)
        yield token


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected; a connection that was there before stays."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "scale", "--on ray") from None
    if ray.is_initialized():
        yield ray
        return
    with _own_signals():
        _connect(ray, address)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if named := address or os.environ.get("RAY_ADDRESS", ""):
        _call(ray, named, quiet)
        return
    try:
        ray.init("auto", **quiet)
    except ConnectionError:
        os.environ.setdefault("RAY_worker_niceness", "0")  # as any other process of the command
        ray.init("local", object_store_memory=OBJECTS, include_dashboard=False, **quiet)


def _call(ray: Any, address: str, quiet: dict[str, Any]) -> None:
    """Connect to a cluster elsewhere; one whose head answers that it failed is called again."""
    for left in reversed(range(CALLS)):
        try:
            ray.init(address, **quiet)
            return
        except ConnectionError as error:
            if left and _FAILED_THERE in str(error):
                time.sleep(PAUSE)
                continue
            raise WorkerError(
                f"no Ray cluster answers at {address}: {error}; start one with ray start --head, "
                "or use --on local:N"
            ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; here it ends work as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
