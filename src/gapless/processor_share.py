"""Processors that this process may use: all of the machine, or a worker's share of it."""

from __future__ import annotations

import os

VARIABLE = "GAPLESS_PROCESSORS"
"""Set in a worker that shares the machine with others; threads decide no result."""


def processors() -> int:
    """How many threads are worth having here."""
    told = os.environ.get(VARIABLE, "")
    return int(told) if told.isdigit() and int(told) else os.cpu_count() or 1
