"""Orders: a task for a machine that may, or may not, see the files of this one.

The rule: what a worker sees at the same path with the same stamp is read there, and an output whose
folder it sees is written there. All else is moved, and only when a worker has asked for it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gapless.artifact import provenance
from gapless.progress import Watch
from gapless.scale.moved_files import pack, stamp, unpack
from gapless.scale.task_answers import Answer, attempt
from gapless.tasks import FileTask

OUT = ""
"""Name under which what a task goes on with is moved."""


@dataclass(frozen=True)
class Order:
    """A task, and how a worker knows whether it sees the same files.

    Attributes:
        task: what is to be done.
        token: a file in the folder of the output.
        folder: that paths are seen from.
        stamps: of the inputs.
        software: that makes the same bytes.
    """

    task: FileTask
    token: str
    folder: str = field(default_factory=os.getcwd)
    stamps: Mapping[str, str] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, task: FileTask, token: str) -> Order:
        """The order of a task, as this machine sees its files."""
        stamps = {name: stamp(path) for name, path in task.inputs.items()}
        return cls(task, token, stamps=stamps, software=_software())

    def unseen(self) -> tuple[str, ...]:
        """Names of what this machine does not see as the one that ordered does."""
        inputs = self.task.inputs.items()
        names = [name for name, path in inputs if stamp(path) != self.stamps[name]]
        shared = (self.task.out.parent / self.token).is_file()
        return tuple(names) if shared else (*names, OUT)

    def packed(self, name: str) -> bytes:
        """What a worker asked for; nothing where an output was not begun."""
        if name == OUT:
            return pack(self.task.out) if self.task.out.exists() else b""
        return pack(self.task.inputs[name], beside=True)


@dataclass(frozen=True)
class Delivery:
    """What a worker gives back.

    Attributes:
        answer: how the task ended; None where it was not begun.
        unseen: what must be moved first.
        made: the output, where it could not be written at its place.
    """

    answer: Answer | None = None
    unseen: tuple[str, ...] = ()
    made: bytes = b""


def fulfil(order: Order, packs: Mapping[str, bytes], watch: Watch) -> Delivery:
    """Do what was ordered, on the machine of a worker."""
    if other := _differing(order.software):
        return Delivery(Answer(refused=f"{socket.gethostname()} has {other}: results differ"))
    unseen = order.unseen()
    if lacking := tuple(name for name in unseen if name not in packs):
        return Delivery(unseen=lacking)
    if Path(order.folder).is_dir():
        os.chdir(order.folder)
    if not unseen:
        return Delivery(attempt(order.task, watch))
    with TemporaryDirectory(prefix="gapless-") as folder:
        task = _moved(order.task, unseen, packs, Path(folder))
        answer = attempt(task, watch)
        whole = OUT in unseen and answer == Answer() and task.out.exists()
        return Delivery(answer, made=pack(task.out) if whole else b"")


def _moved(
    task: FileTask, unseen: tuple[str, ...], packs: Mapping[str, bytes], folder: Path
) -> FileTask:
    """The same task with what was moved in a folder of this machine."""
    inputs, out = dict(task.inputs), task.out
    for k, name in enumerate(unseen):
        place = folder / str(k)
        place.mkdir()
        if name != OUT:
            inputs[name] = unpack(packs[name], place, task.inputs[name])
            continue
        out = place / task.out.name
        if packs[name]:
            unpack(packs[name], place, task.out)
    return replace(task, inputs=inputs, out=out)


def _software() -> dict[str, str]:
    found = provenance()
    return {name: found[name] for name in ("gapless", "mujoco", "numpy")}


def _differing(expected: Mapping[str, str]) -> str:
    """Software of this machine that is not as expected."""
    own = _software()
    return ", ".join(
        f"{name} {own[name]} instead of {then}"
        for name, then in expected.items()
        if own[name] != then
    )
