"""Soft real time: what a process may do to be woken in time, where the system allows it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PRIORITY = 20
"""Of SCHED_FIFO: above all ordinary processes, below the system's own threads."""
SWITCH = 0.0005
"""s after which another thread of this process must hand over: the view and the recorder do."""


@contextmanager
def soft_realtime(core: int | None = None) -> Iterator[tuple[str, ...]]:
    """No garbage collection, quick hand-over between threads, priority; says what was granted.

    Args:
        core: to stay on; any by default.
    """
    collected, interval = gc.isenabled(), sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.setswitchinterval(SWITCH)
    try:
        with _scheduled(core) as granted:
            yield ("garbage collection off", *granted)
    finally:
        sys.setswitchinterval(interval)
        gc.unfreeze()
        if collected:
            gc.enable()


@contextmanager
def _scheduled(core: int | None) -> Iterator[tuple[str, ...]]:
    """Priority and core of this thread, given back at the end; systems without them do without."""
    granted: list[str] = []
    if not hasattr(os, "sched_setscheduler"):
        yield ()
        return
    policy, param, cores = os.sched_getscheduler(0), os.sched_getparam(0), os.sched_getaffinity(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        granted.append(f"priority SCHED_FIFO {PRIORITY}")
    with suppress(OSError, ValueError):
        if core is not None:
            os.sched_setaffinity(0, {core})
            granted.append(f"core {core}")
    try:
        yield tuple(granted)
    finally:
        with suppress(OSError):
            os.sched_setaffinity(0, cores)
            os.sched_setscheduler(0, policy, param)
