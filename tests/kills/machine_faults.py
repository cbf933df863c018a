"""Faults of the machine: each is put right afterwards, and the command then gives its result."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kills.killing import FAILED, finish, processor_time, start

if TYPE_CHECKING:
    from kills.campaign import Trials

CRASHED = 70
"""Exit code of a defect."""
CAPABILITIES, CAPSET = 0x20080522, 126
"""Linux's numbers (x86-64): the version of its capabilities, and the call that sets them."""
DISK = 2000
"""Bytes of the largest file on a disk that is almost full."""


def disk_is_full() -> None:
    """No file grows beyond a few bytes, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (DISK, DISK))


def folder_is_read_only() -> None:
    """Nobody may make files here; root may, so it gives up what makes it special."""
    os.chmod(".", 0o555)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES, 0)
    none = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).syscall(CAPSET, header, none)


def clock_goes_back() -> None:
    """Every look at the calendar shows an hour less."""
    began = time.time()
    now = iter(range(10**9))
    time.time = lambda: began - 3600.0 * next(now)


def memory_is_short() -> None:
    """What the process has now, and a little."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 2**23
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def nobody_reads() -> None:
    """Standard output is a pipe whose reader has gone."""
    out, into = os.pipe()
    os.close(out)
    os.dup2(into, 1)
    sys.stdout = os.fdopen(1, "w")


FAULTS: dict[str, Callable[[], None] | None] = {
    "full disk": disk_is_full,
    "read-only folder": folder_is_read_only,
    "clock set back": clock_goes_back,
    "memory limit": memory_is_short,
    "closed stdout": nobody_reads,
    "SIGTERM": None,
}


def suffer(trials: Trials, fault: str) -> str:
    """How the job ended under a fault; a ! before it where it must not end so."""
    folder, spoil = trials.fresh(), FAULTS[fault]
    try:
        code = _terminated(trials, folder) if spoil is None else _spoiled(trials, folder, spoil)
        os.chmod(folder, 0o755)
        (folder / "said.txt").unlink(missing_ok=True)
        if trials.job.whole is not None:
            trials.job.whole(folder)
        before = len(trials.tally.problems)
        trials.compare(folder, fault)
        bad = len(trials.tally.problems) > before
    except Exception as error:
        trials.tally.problems.append(f"{fault}: {error!r}")
        return "! not whole"
    if code == CRASHED and fault != "memory limit":
        bad = True
    return f"{'! ' if bad else ''}{_named(code)}"


def _spoiled(trials: Trials, folder: Path, spoil: Callable[[], None]) -> int:
    (folder / "said.txt").touch(0o666)
    return finish(start(trials.job, folder, spoil))


def _terminated(trials: Trials, folder: Path) -> int:
    pid = start(trials.job, folder)
    moment = 0.5 * trials.tally.seconds
    while processor_time(pid) < moment and _lives(pid):
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    return finish(pid)


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def _named(code: int) -> str:
    known = {0: "done", 2: "refused", 141: "141", 143: "stopped", CRASHED: "70", FAILED: "raised"}
    return known.get(code, str(code))
