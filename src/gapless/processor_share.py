"""Processors that this process may use: all of the machine, or a worker's share of it."""

from __future__ import annotations

import os

VARIABLE = "GAPLESS_PROCESSORS"
"""Set in a worker that shares the machine with others; threads decide no result."""


def processors() -> int:
    """How many threads are worth having here."""
    told = os.environ.get(VARIABLE, "")
    if told.isdigit() and int(told):
        return int(told)
    if hasattr(os, "sched_getaffinity"):  # taskset, and containers: fewer than the machine has
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
