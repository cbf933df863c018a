"""`make kill-test`: commands killed at random moments, run again, and compared.

python -m kills.campaign --count 200 --out out/kills
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless.artifact import write_json
from kills.jobs import JOBS, Job, digest
from kills.killing import end_at, finish, preload, start
from kills.machine_faults import FAULTS, suffer

MOST_KILLS = 4
"""Of one job before it may end: what resumed is killed again."""


@dataclass
class KillTally:
    """What became of a job.

    Attributes:
        job: its name.
        seconds: of processor time without a kill.
        kills: SIGKILLs.
        trials: times that it was killed one to four times and then left to end.
        problems: what was not as it should be, with seed and moment.
    """

    job: str
    seconds: float = 0.0
    kills: int = 0
    trials: int = 0
    problems: list[str] = field(default_factory=list)


class Trials:
    """A job with its inputs, and what it gives when nobody disturbs it."""

    def __init__(self, job: Job, place: Path, seed: int) -> None:
        self.job, self.place, self.tally = job, place, KillTally(job.name)
        self.random = np.random.default_rng([seed, len(job.name), *map(ord, job.name)])
        self.inputs = place / "inputs"
        self.inputs.mkdir(parents=True)
        job.make(self.inputs)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        folder = self.fresh()
        code = finish(start(job, folder))
        if code:
            raise SystemExit(f"{job.name} ends with {code} undisturbed: {said(folder)}")
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.tally.seconds = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        self.expected = digest(folder)

    def fresh(self) -> Path:
        """The inputs alone, where the last trial was: paths are part of some results."""
        folder = self.place / "work"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.inputs, folder)
        return folder

    def trial(self, kills: int) -> int:
        """Kill it so often, let it end, compare; how often it was killed."""
        folder, done, moments = self.fresh(), 0, []
        try:
            for _ in range(kills):
                moment = float(self.random.uniform(0, self.tally.seconds))
                moments.append(round(moment, 3))
                if not end_at(start(self.job, folder), moment):
                    break
                done += 1
                if self.job.whole is not None:
                    self.job.whole(folder)
                if digest(folder) == self.expected:  # killed with its work done
                    break
            self.compare(folder, f"killed at {moments} s")
        except Exception as error:
            self.tally.problems.append(f"killed at {moments} s: {error!r}; {said(folder)}")
        self.tally.kills += done
        self.tally.trials += 1
        return done

    def compare(self, folder: Path, what: str) -> None:
        """Run it to its end: the same result, and nothing left behind.

        A result that is whole already stays: such a command says that it is there, and refuses.
        """
        if digest(folder) == self.expected:
            return
        code = finish(start(self.job, folder))
        if code:
            self.tally.problems.append(f"{what}: then it ends with {code}: {said(folder)}")
            return
        found = digest(folder)
        keys = sorted({*found, *self.expected})
        other = [k for k in keys if found.get(k) != self.expected.get(k)]
        left = [p.name for p in folder.rglob(".*.staging")] + [
            p.name for p in folder.rglob(".*.part")
        ]
        if other or left:
            self.tally.problems.append(f"{what}: other results {other}, left behind {left}")


def said(folder: Path) -> str:
    """The end of what a job printed."""
    file = folder / "said.txt"
    return file.read_text(errors="replace")[-600:] if file.exists() else ""


def killed(
    name: str, count: int, place: Path, seed: int, faults: Iterable[str]
) -> tuple[KillTally, dict[str, str]]:
    """All trials of a job, and what faults of the machine do to it."""
    trials = Trials(JOBS[name], place / name, seed)
    while trials.tally.kills < count and trials.tally.trials < 4 * count:
        trials.trial(min(MOST_KILLS, count - trials.tally.kills))
    suffered = {fault: suffer(trials, fault) for fault in faults}
    shutil.rmtree(place / name, ignore_errors=True)
    return trials.tally, suffered


def show(tallies: list[KillTally], faults: dict[str, dict[str, str]]) -> None:
    """Two tables: kills, and what the machine did."""
    table = Table("command", "processor s", "kills", "ran to its end", "problems")
    for t in tallies:
        numbers = (f"{t.seconds:.1f}", t.kills, t.trials, len(t.problems))
        table.add_row(t.job, *map(str, numbers))
    sums = [sum(getattr(t, k) for t in tallies) for k in ("kills", "trials")]
    table.add_row("all", "", *map(str, sums), str(sum(len(t.problems) for t in tallies)))
    console = Console(width=140)
    console.print(table)
    table = Table("command", *FAULTS)
    for name, found in faults.items():
        table.add_row(name, *(found.get(fault, "") for fault in FAULTS))
    console.print(table)
    for t in tallies:
        for problem in t.problems:
            console.print(f"{t.job}: {problem}", markup=False)


def main() -> int:
    """Kill, compare, print; 1 where something was not as it should be."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200, help="SIGKILLs over all jobs")
    options.add_argument("--out", type=Path, default=Path("out/kills"))
    options.add_argument("--jobs", nargs="*", default=list(JOBS), choices=list(JOBS))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--no-faults", action="store_true", help="kills alone")
    told = options.parse_args()
    preload()
    each = -(-told.count // len(told.jobs))
    place = Path(tempfile.mkdtemp(prefix="kills-"))
    tallies: list[KillTally] = []
    faults: dict[str, dict[str, str]] = {}
    for name in told.jobs:
        tally, found = killed(name, each, place, told.seed, () if told.no_faults else FAULTS)
        tallies.append(tally)
        faults[name] = found
        result: dict[str, Any] = {"jobs": [asdict(t) for t in tallies], "faults": faults}
        write_json(told.out / "kills.json", {"kills": sum(t.kills for t in tallies), **result})
    shutil.rmtree(place, ignore_errors=True)
    show(tallies, faults)
    wrong = any(t.problems for t in tallies)
    return 1 if wrong or any(v.startswith("!") for f in faults.values() for v in f.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
