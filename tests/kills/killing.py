"""A job in a process of its own, ended at a moment of its processor time.

Processes are forked from one that has imported everything and computed nothing: a kill costs what
the job costs, not what its imports do; and on a busy machine moments mean the same.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from kills.jobs import Job

TICK = os.sysconf("SC_CLK_TCK")
PRELOADED = ("cli.main", "closing", "collection", "tracking", "deployment", "identification")
FAILED = 99
"""Exit code of a job that raised, where there is no command line to turn it into one."""
HANGS = 900
"""Seconds after which a job is ended: without memory, threads of libraries wait for ever."""


def preload() -> None:
    """Import what the jobs need."""
    from importlib import import_module

    for name in (*PRELOADED, "corrections", "evaluation", "recordings.importers"):
        import_module(f"gapless.{name}")
    import_module("gapless.corrections.training")
    import_module("fuzz.small_arm")
    import_module("safe_arm")


def start(job: Job, folder: Path, before: Callable[[], None] | None = None) -> int:
    """Begin a job in its folder; gives the process. `before` spoils something for it."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = FAILED
    try:
        os.setsid()
        signal.alarm(HANGS)
        os.chdir(folder)
        silent = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        if before is not None:
            before()
        code = job.run(folder)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
        finally:
            os._exit(code)


def finish(pid: int) -> int:
    """Wait for a process; its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def end_at(pid: int, seconds: float, how: int = signal.SIGKILL) -> bool:
    """End a process after so much processor time; False where it was done before."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status):
                raise RuntimeError(f"it ended with {os.waitstatus_to_exitcode(status)} by itself")
            return False
        if processor_time(pid) >= seconds:
            os.kill(pid, how)
            os.waitpid(pid, 0)
            return True
        time.sleep(0.002)


def processor_time(pid: int) -> float:
    """Seconds of it so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK
