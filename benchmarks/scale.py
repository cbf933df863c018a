"""Speed-up from one worker to two, the cost of a task, and what 1,000 robots would take.

Work: `close` of small arms, one dataset for each unit, one thread a worker. Baseline: the same
tasks on one worker of the same kind, in the same run. Both cores should be idle; whether they were
is measured: loops of plain Python, which share nothing, in one process and in two, before and after
each kind of worker. Where two of them are not nearly twice as fast, the machine had no second core
to give, and the speed-up says nothing about workers. The projection takes the measured seconds of a
run, the measured cost of handing out a task and the bytes that machines without a shared file
system would fetch; a formula states what it takes at most, and a simulation of the queue checks it.
"""

from __future__ import annotations

import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from gapless.artifact import write_json
from gapless.closing import CloseSettings
from gapless.collection import CollectionPlan, collect
from gapless.progress import Watch
from gapless.scale.fleet_closing import ROBOTS, close_fleet
from gapless.scale.local_processes import LocalProcesses
from gapless.scale.moved_files import pack
from gapless.scale.ray_workers import RayWorkers
from gapless.tasks import FileTask, Workers

LOCKED = ("shoulder_pan", "wrist_flex", "wrist_roll", "gripper")
SETTINGS = CloseSettings(
    parameters=("kp",),
    windows=8,
    members=1,
    physics_step=0.005,
    trainer_settings={"horizons": [0.3], "iterations": 5, "samples": 200},
)
LOOP = "for _ in range(60_000_000): pass"
"""Some seconds of plain Python."""
EMPTY = 50
"""Tasks without work by which the cost of a task is measured."""
CLUSTERS = (1, 10, 100, 1000)
"""Workers of the projection."""


@dataclass(frozen=True)
class Options:
    """Speed-up, cost of a task, projection."""

    units: int = 6
    """Datasets that are closed."""
    times: int = 2
    """How often each is measured; the shortest counts, as it was disturbed least."""
    robots: int = 1000
    """Units of the projection."""
    bandwidth: float = 1.0
    """Of the network that all workers fetch through, Gbit/s."""
    ray: bool = True
    """Measure Ray too, on a cluster of this machine."""
    json: Path | None = None
    """File for the figures."""


def datasets(folder: Path, units: int) -> list[Path]:
    """A dataset of three motions for each hidden arm."""
    found = []
    for unit in range(1, units + 1):
        plan = CollectionPlan(
            "so101",
            lock=LOCKED,
            motions=("multisine", "chirp", "waypoints"),
            seconds=6.0,
            units=(unit,),
            hidden="mild",
        )
        made = collect(plan, folder / f"unit{unit}")
        found.append(made.path / made.datasets[0].name)
    return found


def closed(paths: list[Path], out: Path, workers: Workers, times: int) -> float:
    """Seconds that workers take; one of them alone, and warm, before the clock starts."""
    close_fleet(paths[:1], out / "warm", settings=SETTINGS, workers=workers, lock=LOCKED)
    found = []
    for k in range(times):
        began = time.perf_counter()
        fleet = close_fleet(paths, out / str(k), settings=SETTINGS, workers=workers, lock=LOCKED)
        found.append(time.perf_counter() - began)
        assert not fleet.failed, fleet.failed
    return min(found)


def plain_loops() -> float:
    """Speed-up of two processes that share nothing: all that the machine has to give."""

    def seconds(at_once: int) -> float:
        began = time.perf_counter()
        for _ in range(2 // at_once):
            started = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(at_once)]
            assert [process.wait() for process in started] == [0] * at_once
        return time.perf_counter() - began

    return seconds(1) / seconds(2)


def nothing(asked: dict[str, Any], files: dict[str, Path], out: Path, watch: Watch) -> None:
    """A task without work: it leaves its file."""
    write_json(out, asked)


def cost(folder: Path, workers: Workers) -> float:
    """Seconds of a task that does nothing; those of many, less those of one, both warm."""

    def seconds(count: int, name: str) -> float:
        places = [folder / f"{name}{k}.json" for k in range(count)]
        tasks = [FileTask(p.stem, "scale:nothing", {}, {}, p) for p in places]
        began = time.perf_counter()
        assert workers.run(tasks) == {}
        return time.perf_counter() - began

    seconds(1, "cold")
    one = seconds(1, "one")
    return max(0.0, seconds(1 + EMPTY, "many") - one) / EMPTY


def task_seconds(paths: list[Path], out: Path) -> list[float]:
    """Seconds of each run, one after the other in this process."""
    found = []
    for path in paths:
        began = time.perf_counter()
        close_fleet([path], out / path.parent.parent.name, settings=SETTINGS, lock=LOCKED)
        found.append(time.perf_counter() - began)
    return found


def simulated(times: np.ndarray, workers: int, dispatch: float, fetch: float) -> float:
    """Seconds until the last of many tasks ends.

    Whoever hands out tasks does one after the other; so does the network that workers fetch by.
    """
    free, handed, line = [0.0] * workers, 0.0, 0.0
    heapq.heapify(free)
    last = 0.0
    for seconds in times:
        handed = max(handed, heapq.heappop(free)) + dispatch
        line = max(line, handed) + fetch
        heapq.heappush(free, line + seconds)
        last = max(last, line + seconds)
    return last


def stated(times: np.ndarray, workers: int, dispatch: float, fetch: float) -> float:
    """Seconds that it takes at most.

    What is done one after the other, the work shared out, and a worker that begins the longest task
    when all others end: until the last task begins, either all workers are busy or one is handed
    something.
    """
    serial = len(times) * (dispatch + fetch)
    return serial + times.sum() / workers + (1 - 1 / workers) * times.max()


def projection(seconds: list[float], dispatch: float, moved: int, how: Options) -> list[dict]:
    """Rows for clusters that share a file system, and for those that do not."""
    drawn = np.random.default_rng(0).choice(seconds, how.robots)
    rows = []
    for shared in (True, False):
        fetch = 0.0 if shared else 8 * moved / (how.bandwidth * 1e9)
        for workers in CLUSTERS:
            says = stated(drawn, workers, dispatch, fetch)
            found = simulated(drawn, workers, dispatch, fetch)
            rows.append(
                {
                    "workers": workers,
                    "shared": shared,
                    "stated": says,
                    "simulated": found,
                    "off": says / found - 1,
                }
            )
    return rows


def bytes_of(path: Path, fleet: Path) -> dict[str, int]:
    """What a machine without these files fetches and sends back, of one unit."""
    name = path.name
    return {
        "dataset": len(pack(path)),
        "robot": len(pack(fleet / ROBOTS / name)),
        "run": len(pack(fleet / name)),
    }


def measured(how: Options, folder: Path) -> dict[str, Any]:
    """All figures."""
    load = os.getloadavg()[0]
    paths = datasets(folder / "data", how.units)
    makers: dict[str, Callable[[int], Workers]] = {"processes": LocalProcesses}
    if how.ray:
        makers["ray"] = ray_of
    speed: dict[str, Any] = {}
    for name, maker in makers.items():
        given = [plain_loops()]
        times = {n: closed(paths, folder / f"{name}{n}", maker(n), how.times) for n in (1, 2)}
        given.append(plain_loops())
        each = cost(folder / f"{name}_empty", maker(1))
        speed[name] = {
            "plain_loops": given,
            "one": times[1],
            "two": times[2],
            "speed_up": times[1] / times[2],
        }
        speed[name]["seconds_a_task"] = each
    alone = task_seconds(paths, folder / "alone")
    moved = bytes_of(paths[0], folder / "alone" / "unit1")
    dispatch = max(row["seconds_a_task"] for row in speed.values())
    return {
        "load_before": load,
        "units": how.units,
        "speed": speed,
        "seconds_of_a_run": alone,
        "bytes": moved,
        "projection": projection(alone, dispatch, sum(moved.values()), how),
    }


def ray_of(processors: int) -> RayWorkers:
    """Workers of a cluster of its own, with so many processors."""
    import ray

    ray.shutdown()
    small = {"object_store_memory": 100 * 2**20, "include_dashboard": False}
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    ray.init("local", num_cpus=processors, **small, **quiet)
    return RayWorkers()


def show(found: dict[str, Any], robots: int) -> None:
    """Print tables."""
    console = Console(width=120)
    console.print(f"load of the machine before the run: {found['load_before']:.1f}")
    table = Table(title=f"closing {found['units']} datasets, one thread a worker")
    for column in (
        "workers are",
        "one, s",
        "two, s",
        "speed-up",
        "of plain loops",
        "cost of a task, ms",
    ):
        table.add_column(column, justify="right")
    for name, row in found["speed"].items():
        numbers = f"{row['one']:.1f}", f"{row['two']:.1f}", f"{row['speed_up']:.2f}"
        loops = " and ".join(f"{given:.2f}" for given in row["plain_loops"])
        table.add_row(name, *numbers, loops, f"{1e3 * row['seconds_a_task']:.0f}")
    console.print(table)
    kilobytes = ", ".join(f"{k} {v / 1e3:.0f} kB" for k, v in found["bytes"].items())
    console.print(f"moved for a unit where no file system is shared: {kilobytes}")
    table = Table(title=f"projection: {robots} robots, minutes")
    for column in (
        "workers",
        "file system",
        "stated, at most",
        "simulated queue",
        "stated is off by",
    ):
        table.add_column(column, justify="right")
    for row in found["projection"]:
        where = "shared" if row["shared"] else "not shared"
        minutes = f"{row['stated'] / 60:.2f}", f"{row['simulated'] / 60:.2f}"
        table.add_row(str(row["workers"]), where, *minutes, f"{row['off']:+.1%}")
    console.print(table)


def main() -> None:
    """Measure, print, write."""
    how = tyro.cli(Options)
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
    os.environ |= {"OMP_NUM_THREADS": "1", "GAPLESS_PROCESSORS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        found = measured(how, Path(folder))
    show(found, how.robots)
    text = json.dumps(found, indent=2)
    if how.json:
        how.json.write_text(text + "\n")
    sys.stdout.write("" if how.json else text + "\n")


if __name__ == "__main__":
    main()
