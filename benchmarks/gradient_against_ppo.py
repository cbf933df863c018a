"""The gradient trainer against PPO: same network, head, recordings, split and start.

The robot is a hidden H1-2 (`typical`), arms only, without a load and with 2 kg in each hand. Both
learn from motions of one unit, choose rounds by others of it, and are judged by other motions of
another unit. A point is the held-out error of what the choosing motions have picked so far: what
one would have, had one stopped then. Prints these over the wall time of both, and when the gradient
trainer had what PPO had in the end. Time that is spent on judging is not counted.

    python benchmarks/gradient_against_ppo.py --minutes 20 --seeds 3 --json out/gradient_ppo.json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from gapless.artifact import read_json, write_json
from gapless.collection.pairing import batches, play
from gapless.collection.plan_presets import preset
from gapless.collection.plan_worlds import replica_world, target_world
from gapless.collection.repertoire import Repertoire, repertoire
from gapless.collection.starts import Starts
from gapless.corrections import CorrectedWorld, Correction
from gapless.corrections.operator.sensor_predictor import with_sensors
from gapless.corrections.training import TrainingSession, trainer_of
from gapless.corrections.training.task import Task
from gapless.corrections.training.trainer import TrainingProgress
from gapless.corrections.training.untrained import contract_for, untrained
from gapless.measurement.judge import replay_error
from gapless.progress import Progress
from gapless.recordings import Recording, Split, split_recordings
from gapless.worlds import MujocoWorld

RATE, SECONDS, HELD_OUT = 50, 9.0, 4
HORIZON = 1.0


@dataclass(frozen=True)
class Point:
    """Errors of the correction that was the best by the choosing motions at a time, rad."""

    seconds: float
    choose: float
    error: float


@dataclass
class Course:
    """A training as it went.

    Attributes:
        task: what is learned.
        test: recordings that judge it.
        points: so far.
    """

    task: Task
    test: list[Recording]
    points: list[Point]
    judging: float = 0.0
    began: float = 0.0

    def train(self, trainer: str, settings: dict[str, Any], start: Correction) -> None:
        """Train from a start; every correction that a trainer shows is a candidate."""
        self.began = time.perf_counter()
        self.note(start)
        trainer_of(trainer, settings).train(self.task, start, TrainingSession(watch=self.watch))

    def watch(self, now: Progress) -> None:
        """Note every correction that a trainer shows."""
        if isinstance(now, TrainingProgress) and now.correction is not None:
            self.note(now.correction)

    def note(self, correction: Correction) -> None:
        """Judge a correction with the clock stopped; one that chooses worse changes nothing."""
        asked = time.perf_counter()
        choose, best = self.task.error(correction), self.points[-1] if self.points else None
        error = best.error if best else np.inf
        if best is None or choose < best.choose:
            world = CorrectedWorld(self.task.world, None, [correction])
            error = replay_error(self.test, world, HORIZON)
        self.points.append(
            Point(
                asked - self.began - self.judging,
                min(choose, best.choose if best else choose),
                error,
            )
        )
        self.judging += time.perf_counter() - asked


def recorded(motions: int, seed: int) -> tuple[Repertoire, Split]:
    """Motions of one unit to learn from, and other motions of another unit to judge by."""
    plan = replace(
        preset("simlifter"),
        seconds=SECONDS,
        hours=(motions + HELD_OUT) * SECONDS * 4 / 3600,
        payloads=(0.0, 2.0),
        rates=(RATE,),
        units=(1,),
        held_out=(2,),
        repeats=1,
        seed=seed,
    )
    chosen = repertoire(plan)
    step = max(2, len(chosen.names) // HELD_OUT)
    kept = {name for name, _ in chosen.names[::step]}
    targets, replica = chosen.targets(RATE), replica_world(plan, chosen.robot, RATE)
    sides: dict[str, list[Recording]] = {}
    for split, (unit,) in plan.splits.items():
        world = target_world(plan, chosen.robot, unit, RATE)
        sequences = plan.sequences(split, RATE, chosen.names)
        wanted = [s for s in sequences if (s.motion in kept) == (split == "held_out")]
        sides[split] = [
            recording
            for batch in batches(wanted, targets, plan.batch)
            for recording in play(
                plan, batch, targets, world, replica, Starts(plan, replica)
            ).recordings()
        ]
    return chosen, split_recordings(sides["fit"], test=sides["held_out"], seed=seed)


def compare(args: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Train both and set their courses side by side; the seed draws motions, split and weights."""
    chosen, split = recorded(args.motions, seed)
    world = MujocoWorld(chosen.robot, RATE)
    task = Task(world, split.learn, split.choose, HORIZON, seed)
    contract = contract_for(world, RATE, model=args.model, head=args.head, members=1)
    start = with_sensors(untrained(contract, task, seed), task)
    limits = {"iterations": 10**6, "seconds": 60 * args.minutes, **json.loads(args.ppo)}
    courses = {}
    for trainer, settings in (("gradient", json.loads(args.gradient)), ("ppo", limits)):
        courses[trainer] = Course(task, list(split.test), [])
        courses[trainer].train(trainer, settings, start)
    # PPO's best may be older than its end: the time counts at which it first had it.
    last = courses["ppo"].points[-1].error
    aim = next(p for p in courses["ppo"].points if p.error <= last)
    # The start is no achievement: where PPO gained nothing there is nothing to reach.
    reached = [p.seconds for p in courses["gradient"].points[1:] if p.error <= aim.error]
    return {
        "model": args.model,
        "head": args.head,
        "seed": seed,
        "raw": replay_error(split.test, world, HORIZON),
        "courses": {name: [asdict(p) for p in c.points] for name, c in courses.items()},
        "reached_seconds": reached[0] if reached else None,
        "ratio": aim.seconds / reached[0] if reached else None,
    }


def show(row: dict[str, Any], console: Console) -> None:
    """The courses as a table, and what follows from them."""
    table = Table(
        *("trainer", "wall time, s", "held-out error, rad", "of raw"),
        title=f"{row['model']}, {row['head']}, seed {row['seed']}: 1 s replays of another unit",
    )
    table.add_row("none", "0", f"{row['raw']:.5f}", "100 %")
    for name, points in row["courses"].items():
        for p in _thinned(points):
            share = f"{100 * p['error'] / row['raw']:.0f} %"
            table.add_row(name, f"{p['seconds']:.1f}", f"{p['error']:.5f}", share)
    console.print(table)
    end = {name: points[-1] for name, points in row["courses"].items()}
    if row["ratio"] is None:
        console.print(f"gradient did not reach PPO's {end['ppo']['error']:.5f} rad")
        return
    console.print(
        f"PPO ended at {end['ppo']['error']:.5f} rad after {end['ppo']['seconds']:.0f} s; gradient "
        f"was there after {row['reached_seconds']:.1f} s ({row['ratio']:.0f} times sooner) and "
        f"ended at {end['gradient']['error']:.5f} rad"
    )


def _thinned(points: list[dict[str, float]], most: int = 12) -> list[dict[str, float]]:
    """At most so many of the points, evenly, the last among them."""
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, most).astype(int))]


def summary(rows: list[dict[str, Any]]) -> str:
    """Mean and standard deviation over seeds of what both had in the end, and of the ratio."""

    def of(values: list[float]) -> str:
        return f"{np.mean(values):.4f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.4f}"

    end = {
        name: of([row["courses"][name][-1]["error"] for row in rows])
        for name in ("gradient", "ppo")
    }
    ratios = [f"{row['ratio']:.1f}" if row["ratio"] else "never" for row in rows]
    return (
        f"{len(rows)} seeds, held-out replay error over {HORIZON:g} s, rad: raw "
        f"{of([row['raw'] for row in rows])}, gradient {end['gradient']}, PPO {end['ppo']}; "
        f"gradient was where PPO ended sooner by a factor of {', '.join(ratios)}"
    )


def main() -> None:
    """Compare, print, write; seeds that the file has are not trained again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="of PPO")
    parser.add_argument("--model", default="mlp", choices=["mlp", "gru", "operator"])
    parser.add_argument("--head", default="action", choices=["action", "torque"])
    parser.add_argument("--motions", type=int, default=12, help="to learn from")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="of torch; 0 leaves its own choice")
    parser.add_argument("--gradient", default="{}", help="settings of the trainer, JSON")
    parser.add_argument("--ppo", default="{}", help="settings of the trainer, JSON")
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    rows = read_json(args.json)["rows"] if args.json and args.json.exists() else []
    for seed in range(len(rows), args.seeds):
        rows.append(compare(args, seed))
        if args.json:
            write_json(args.json, {"rows": rows})
    for row in rows:
        show(row, Console(width=100))
    Console(width=100).print(summary(rows))


if __name__ == "__main__":
    main()
