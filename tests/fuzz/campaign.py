"""`make fuzz`: many damaged inputs of every reader, counted; a second call goes on where one ended.

python -m fuzz.campaign --count 100000 --out out/fuzz
"""

from __future__ import annotations

import argparse
import json
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fuzz.worker import MEMORY, SECONDS
from gapless.artifact import file_name, write_json
from kills.killing import processor_time

WALL = 600
"""Seconds without a word and without processor time: a worker waits for what never comes.

One that is only slow, on a busy machine, uses some; too much of it is what SIGPROF ends."""
BATCH = 500
"""Cases between two writings of how far it has come."""
FAILURES = 20
"""Broken cases after which a reader is left: there is something to mend first."""


@dataclass
class Tally:
    """What became of the cases of a reader.

    Attributes:
        reader: its name.
        done: cases so far; the next has this number.
        read: that were read and used in spite of the damage.
        refused: by an error of ours.
        slowest: processor time of the longest, s.
        failures: number, what happened and the trace, of every other.
    """

    reader: str
    done: int = 0
    read: int = 0
    refused: int = 0
    slowest: float = 0.0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def count(self, case: dict[str, Any]) -> None:
        """Add one case."""
        self.done = case["number"] + 1
        self.slowest = max(self.slowest, case["seconds"])
        if case["how"] in ("read", "refused"):
            setattr(self, case["how"], getattr(self, case["how"]) + 1)
        else:
            self.failures.append(case)

    def ended(self, code: int | None) -> None:
        """The process is gone in the middle of a case: that one goes down as a failure."""
        how = {-signal.SIGPROF: f"over {SECONDS} s", None: f"silent for {WALL} s"}
        told = how.get(code, f"process ended with {code}")
        self.count({"number": self.done, "how": told, "seconds": 0.0})


def try_reader(name: str, count: int, out: Path) -> Tally:
    """All cases of a reader that are not done yet."""
    file = out / f"{file_name(name)}.json"
    tally = Tally(**json.loads(file.read_text())) if file.exists() else Tally(name)
    while tally.done < count and len(tally.failures) < FAILURES:
        first = tally.done
        folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        try:
            code = _worked(tally, count, folder, file)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if code != 0:
            if code == 1 and tally.done == first:
                raise SystemExit(f"the reader {name!r} could not be started")
            tally.ended(code)
            write_json(file, asdict(tally))
    return tally


def _worked(tally: Tally, stop: int, folder: Path, file: Path) -> int | None:
    """One process for some cases; how it ended, None where it was silent too long."""
    told = [tally.reader, str(tally.done), str(stop), str(folder)]
    run = [sys.executable, "-m", "fuzz.worker", *told]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        for line in _lines(process):
            if line is None:
                process.kill()
                return None
            tally.count(json.loads(line))
            if tally.done % BATCH == 0 or tally.done == stop:
                write_json(file, asdict(tally))
            if len(tally.failures) >= FAILURES:
                process.kill()
                return 0
        return process.wait()


def _lines(process: subprocess.Popen[str]) -> Iterator[str | None]:
    """What a process says, and None where it says and does nothing for too long."""
    assert process.stdout is not None
    used = -1.0
    while True:
        if not select.select([process.stdout], [], [], WALL)[0]:
            before, used = used, processor_time(process.pid)
            if used == before:
                yield None
            continue
        line = process.stdout.readline()
        if not line:
            return
        yield line


def show(tallies: list[Tally]) -> None:
    """A row a reader, and the sum."""
    table = Table("reader", "inputs", "read", "refused", "failures", "slowest, s")
    for t in tallies:
        numbers = (t.done, t.read, t.refused, len(t.failures), f"{t.slowest:.2f}")
        table.add_row(t.reader, *map(str, numbers))
    sums = [sum(getattr(t, k) for t in tallies) for k in ("done", "read", "refused")]
    table.add_row("all", *map(str, sums), str(sum(len(t.failures) for t in tallies)), "")
    Console(width=100).print(table)


def main() -> int:
    """Try, count, print; 1 where a case failed."""
    from fuzz.cases import READERS

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=100_000, help="inputs of all readers")
    options.add_argument("--out", type=Path, default=Path("out/fuzz"))
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--readers", nargs="*", default=list(READERS), choices=list(READERS))
    told = options.parse_args()
    told.out.mkdir(parents=True, exist_ok=True)
    each = -(-told.count // len(told.readers))
    with ThreadPoolExecutor(told.workers) as pool:
        tallies = list(pool.map(lambda name: try_reader(name, each, told.out), told.readers))
    show(tallies)
    failed = [{"reader": t.reader, **case} for t in tallies for case in t.failures]
    counts = {"inputs": sum(t.done for t in tallies), "seconds": SECONDS, "bytes": MEMORY}
    write_json(told.out / "fuzz.json", counts | {"readers": [asdict(t) for t in tallies]})
    for case in failed:
        print(f"\n{case['reader']} {case['number']}: {case['how']}\n{case.get('why', '')}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
