"""Operators: who may ask for another stage while a robot runs; polled, never waited for."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from gapless.deployment.stage_plan import PlanStep, stage_of
from gapless.deployment.transitions import DAMP
from gapless.errors import DataError, GaplessError


@dataclass(frozen=True)
class StageRequest:
    """What somebody wants.

    Attributes:
        stage: to go to; None leaves it.
        velocity: to walk at; None leaves it.
        faster: added to the velocity.
        lowered: the robot is on its feet from here on.
        abort: damp with the very next command.
        end: the run is over.
    """

    stage: str | None = None
    velocity: tuple[float, ...] | None = None
    faster: tuple[float, ...] | None = None
    lowered: bool = False
    abort: bool = False
    end: bool = False


@dataclass(frozen=True)
class PilotStatus:
    """What operators are told at every control step.

    Attributes:
        stage: that the robot is in.
        settled: nothing of the stage before is left in its commands.
        refused: why the last request was given up; "" where it was not.
        rate: control steps per second.
    """

    stage: str
    settled: bool
    refused: str
    rate: float


class StageOperator(Protocol):
    """Somebody who asks."""

    def requests(self, status: PilotStatus) -> Iterator[StageRequest]:
        """What came since the last control step, at once."""
        ...


class PlanOperator:
    """Leads a robot through a plan. A stage that was refused is left out: `skipped` says why."""

    def __init__(self, steps: Sequence[PlanStep]) -> None:
        self._steps, self._at = list(steps), -1
        self._entered, self._count = False, 0
        self.skipped: list[str] = []

    def requests(self, status: PilotStatus) -> Iterator[StageRequest]:
        """The next stage, once the one before is over."""
        if not self._over(status):
            return
        self._at += 1
        self._entered, self._count = False, 0
        if self._at < len(self._steps):
            step = self._steps[self._at]
            asked = StageRequest(step.stage, step.velocity)
            yield StageRequest(lowered=True) if step.lowers else asked
        else:
            yield StageRequest(end=True)

    def _over(self, status: PilotStatus) -> bool:
        if not 0 <= self._at < len(self._steps):
            return self._at < 0
        step = self._steps[self._at]
        if step.lowers:
            return True
        here = status.stage == step.stage
        self._entered = self._entered or here
        if not self._entered and status.refused:
            self.skipped.append(f"{step.stage}: {status.refused}")
            return True
        self._count += here and status.settled
        if self._entered and not here:
            return True
        return step.seconds is not None and self._count >= step.seconds * status.rate


KEYS: dict[str, StageRequest] = {
    "z": StageRequest("zero"),
    "s": StageRequest("stand"),
    "w": StageRequest("locomotion"),
    "t": StageRequest("tracking"),
    "d": StageRequest(DAMP),
    " ": StageRequest(abort=True),
    "q": StageRequest(abort=True, end=True),
    "\x1b[A": StageRequest(faster=(0.1, 0.0, 0.0)),
    "\x1b[B": StageRequest(faster=(-0.1, 0.0, 0.0)),
    "\x1b[D": StageRequest(faster=(0.0, 0.0, 0.1)),
    "\x1b[C": StageRequest(faster=(0.0, 0.0, -0.1)),
    "l": StageRequest(lowered=True),
    "0": StageRequest(velocity=(0.0, 0.0, 0.0)),
}
"""Key -> what it asks for; arrows change the velocity."""
KEYS_SAID = (
    "z zero, s stand, w walk, t track, d damp, l lowered, arrows faster or turn, 0 still, "
    "space abort, q end"
)


class KeyboardOperator:
    """The keys of a terminal, without Enter."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def requests(self, status: PilotStatus) -> Iterator[StageRequest]:
        """Keys that were pressed; those that mean nothing are passed over."""
        if not select.select([self._descriptor], [], [], 0)[0]:
            return
        text = os.read(self._descriptor, 64).decode("ascii", "ignore")
        while text:
            key = next((k for k in KEYS if text.startswith(k)), text[0])
            text = text[len(key) :]
            if key in KEYS:
                yield KEYS[key]


@contextmanager
def keyboard() -> Iterator[list[StageOperator]]:
    """The keyboard as an operator, where standard input is a terminal; left as it was found."""
    if not sys.stdin.isatty():
        yield []
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield [KeyboardOperator(descriptor)]
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class RemoteOperator:
    """JSON datagrams: {"stage": "walk", "velocity": [0.5, 0, 0]}, {"abort": true}, {"end": true}.

    A remote that falls silent walks nowhere: its velocity is taken back after `patience`.

    Args:
        address: to listen on.
        patience: s that a velocity lasts without another datagram.
    """

    def __init__(self, address: tuple[str, int], patience: float = 1.0) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind(address)
        except OSError as error:
            raise DataError(
                f"cannot listen to a remote at {address[0]}:{address[1]}: {error.strerror}"
            ) from error
        self._patience, self._silent, self._moving = patience, 0, False
        self.address: tuple[str, int] = self._socket.getsockname()
        self.misread = 0

    def requests(self, status: PilotStatus) -> Iterator[StageRequest]:
        """What came; what is not understood is counted."""
        self._silent += 1
        for _ in range(16):
            try:
                data = self._socket.recv(4096)
            except OSError:
                break
            request = remote_request(data)
            self.misread += request is None
            if request is not None:
                self._silent = 0
                if request.velocity is not None:
                    self._moving = any(request.velocity)
                yield request
        if self._moving and self._silent > self._patience * status.rate:
            self._moving = False
            yield StageRequest(velocity=(0.0, 0.0, 0.0))

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


KNOWN = {"stage", "velocity", "lowered", "abort", "end"}


def remote_request(data: bytes) -> StageRequest | None:
    """A datagram in our words; None where it is not understood, whole or in part."""
    try:
        told = json.loads(data)
        if not isinstance(told, dict) or not {*told} <= KNOWN:
            return None
        stage = told.get("stage")
        return StageRequest(
            stage=None if stage is None else stage_of(stage),
            velocity=_velocity(told.get("velocity")),
            lowered=told.get("lowered") is True,
            abort=told.get("abort") is True,
            end=told.get("end") is True,
        )
    except (ValueError, TypeError, GaplessError, RecursionError):
        return None


def _velocity(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    found = tuple(float(number) for number in value)
    if len(found) != 3 or not all(abs(number) < float("inf") for number in found):
        raise ValueError("a velocity is three numbers")
    return found
