"""A process that tries the damaged inputs of one reader, under limits that the system enforces.

Prints a JSON line a case; what libraries print meanwhile goes to standard error. More than SECONDS
of processor time in one ends the process by SIGPROF; MEMORY more than it began with is refused to
it. `fuzz.campaign` counts what became of it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

SECONDS = 10
"""Processor time that a case may take."""
MEMORY = 2**30
"""Bytes that a case may take beside what the process has when it begins."""


def limit_memory() -> None:
    """So much and no more than now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(name: str, first: int, stop: int, folder: Path) -> None:
    """Try the cases from `first` up to `stop`."""
    from fuzz.cases import READERS, Bench

    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    bench = Bench(READERS[name], folder)
    how, why = bench.attempt()
    if how != "read":
        raise SystemExit(f"the valid source of {name} is {how}: {why}")
    limit_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for number in range(first, stop):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        began = time.process_time()
        how, why = bench.case(number)
        took = time.process_time() - began
        told = {"number": number, "how": how, "seconds": round(took, 3)}
        line = json.dumps(told | ({"why": why} if how == "broken" else {}))
        print(line, file=said, flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
