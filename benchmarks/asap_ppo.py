"""ASAP's delta action by PPO, given hours, on the recordings of ASAP's open-loop table.

PPO trains ASAP's network with ASAP's reward and begins at no correction. A tenth of its time apart,
the choosing motions judge it; a row is what one would have, had one stopped then: the correction
that they liked best so far, and its error on motions that are held out. Beside it the gradient
trainer with the same network, head, recordings and start, and `identify` as `close` has it. Seconds
are of a processor, without judging. Stopped, the same command goes on.

    python benchmarks/asap_ppo.py --data out/g1/fit/50hz --hours 6 --out out/asap_ppo
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from gapless import CorrectedWorld, Dataset, MujocoWorld, Robot, measure
from gapless.artifact import read_json, write_json
from gapless.comparison.methods import METHODS, Bench, asap_network, identified
from gapless.corrections.training.trainer import TrainingProgress
from gapless.learning.ppo_progress import JUDGEMENT
from gapless.progress import Progress
from gapless.recordings.recording import Recordings
from gapless.worlds import World

STEP, HORIZON, WINDOWS = 0.004, 1.0, 20
METRICS = {"e_g_mpjpe": "E_g-mpjpe, mm", "replay_error": "joints, rad"}

Point = dict[str, float]
"""Seconds, the choosing error, and the held-out ones of what was chosen by then."""


def errors(test: Recordings, world: World) -> Point:
    """Over one second, on motions that are held out."""
    gap = measure(test, world, horizons=(HORIZON,), windows=WINDOWS)
    return {metric: gap.mean(metric, HORIZON).value for metric in METRICS}


@dataclass
class Course:
    """A training as it goes.

    Attributes:
        bench: what it is given.
        test: recordings that judge it.
        keep: called with all points after each.
        points: so far, of earlier runs too.
    """

    bench: Bench
    test: Recordings
    keep: Callable[[list[Point]], None]
    points: list[Point]
    judging: float = 0.0
    began: float = field(default_factory=time.process_time)

    def __post_init__(self) -> None:
        self.began -= self.points[-1]["seconds"] if self.points else 0.0

    def watch(self, now: Progress) -> None:
        """Judge a correction that the choosing motions have judged, with the clock stopped."""
        if not isinstance(now, TrainingProgress) or now.correction is None:
            return
        asked = time.process_time()
        seconds = asked - self.began - self.judging
        best = self.points[-1] if self.points else None
        choose, found = now.figures[JUDGEMENT], best
        if best is None or choose < best["choose"]:
            found = errors(self.test, CorrectedWorld(self.bench.world, None, [now.correction]))
        assert found is not None
        self.points.append({**found, "seconds": seconds, "choose": choose})
        if best is not None:
            self.points[-1]["choose"] = min(choose, best["choose"])
        self.keep(self.points)
        self.judging += time.process_time() - asked


def ppo(course: Course) -> None:
    """ASAP's method, as `gapless compare` has it."""
    METHODS["asap"](course.bench)


def gradient(course: Course) -> None:
    """The same network and start, another trainer."""
    course.bench.learned(
        "gradient", model="mlp", members=1, model_settings=asap_network(course.bench)
    )


def identify(course: Course) -> None:
    """The ladder; its one point is its end."""
    world = identified(course.bench)
    seconds = time.process_time() - course.began
    course.points.append({**errors(course.test, world), "seconds": seconds, "choose": float("nan")})
    course.keep(course.points)


COURSES = {"identify": identify, "gradient": gradient, "ppo": ppo}


def study(args: argparse.Namespace) -> dict[str, Any]:
    """Every course that the file does not have whole."""
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "asap_ppo.json"
    found = read_json(file) if file.exists() else {"courses": {}, "done": []}
    dataset = Dataset.open(args.data)
    nominal = Robot.load("g1", mount="free")
    robot = nominal.lock([j for j in nominal.joints.names if j not in dataset[0].joints])
    split = dataset.split("motion", test=0.25, seed=0)
    world = MujocoWorld(robot, dataset.rate, physics_step=STEP, threads=1)
    budget = 3600 * args.hours
    settings = {"asap": {"trainer_settings": {"threads": 1}}, "identify": {"threads": 1}}
    bench = Bench(world, split.without_test(), budget=budget, seed=args.seed, settings=settings)
    found["raw"] = found.get("raw") or errors(split.test, world)
    for name in (n for n in args.courses if n not in found["done"]):

        def keep(points: list[Point], name: str = name) -> None:
            found["courses"][name] = points
            write_json(file, found)

        before = list(found["courses"].get(name, [])) if name == "ppo" else []
        course = Course(bench, split.test, keep, before)
        course.bench = replace(
            bench, watch=course.watch, checkpoint=args.out / f"{name}.safetensors"
        )
        COURSES[name](course)
        found["done"].append(name)
        write_json(file, found)
    return found


def table(found: dict[str, Any]) -> Table:
    """A row a point; the gain is of the first metric."""
    shown = Table("", "s of a processor", *METRICS.values(), "gain", title="held-out motions, 1 s")
    raw = found["raw"]

    def row(name: str, seconds: float, point: Point) -> None:
        first = next(iter(METRICS))
        gain = f"{100 * (point[first] / raw[first] - 1):+.0f} %"
        values = (f"{point['e_g_mpjpe']:.1f}", f"{point['replay_error']:.4f}")
        shown.add_row(name, f"{seconds:.0f}", *values, gain)

    row("raw", 0, raw)
    for name, points in found["courses"].items():
        for point in points:
            row(name, point["seconds"], point)
    return shown


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=6.0, help="of PPO by the clock, on one core")
    parser.add_argument("--courses", nargs="+", default=list(COURSES), choices=list(COURSES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/asap_ppo"))
    torch.set_num_threads(1)
    Console(width=100).print(table(study(parser.parse_args())))


if __name__ == "__main__":
    main()
