"""ASAP's closed-loop table: a tracker, recorded on a robot, tuned in what methods make of that.

The robot is a hidden one in another engine. A pretrained tracker (trained here, or other people's:
`--policy`) is recorded on it, each method makes a simulator of these recordings alone, the tracker
is tuned there, with equal samples and one reward, and evaluated on the robot uncorrected.
`oracle` is the pretrained tracker in its own simulator, `vanilla` the same on the robot, `ceiling`
is tuned on the robot itself. A seed draws the robot's unit, the training, the takes and the tuning.

    python benchmarks/closed_loop.py squat_level1_filter.pkl --seeds 0 1 2 --out out/closed_loop
    python benchmarks/closed_loop.py kick_level1_filter.pkl --policy kick.toml --rows vanilla ours
    python benchmarks/closed_loop.py --queue benchmarks/closed_loop_queue.toml --motions MOTIONS

Every cell that the results have is not made again. Rows beside the table: `raw` (tuned in the
nominal simulator, with the same variation), `asap` (a delta of all joints), `intervals` (tuned in
simulators within the intervals of what was identified), `noise-B` (in the nominal one, targets
disturbed by up to B rad), and those of `closed_loop_sweeps.py`. A queue goes on after a cell that
cannot be made, and ends with 1.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from closed_loop_queue import QueuedMotion, contract_beside, file_of, read_queue
from closed_loop_sweeps import OUTSIDE, SWEPT, simulator_of_another, swept_simulator
from rich.console import Console
from rich.table import Table

from gapless import Policy, Robot, Scenario, World, evaluate, finetune
from gapless.artifact import read_json, write_json
from gapless.cli.terminal import progress
from gapless.comparison.methods import METHODS, Bench
from gapless.errors import GaplessError
from gapless.motions.motion import Motion
from gapless.motions.references import read_motions
from gapless.recordings import Dataset, Recording
from gapless.tracking.policy_loop import (
    SCORES,
    LoopSettings,
    PolicyLoop,
    scores_of,
    taught_takes,
)
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training import FINETUNED
from gapless.worlds import MujocoWorld
from gapless.worlds.named_worlds import world_of

ANKLES = ("ankles",)
ROWS = (
    *("oracle", "vanilla", "ceiling", "asap-sysid", "delta-dynamics", "asap-ankles"),
    *("identify", "ours"),
)
NOISES = (0.025, 0.05, 0.1, 0.2, 0.4)
"""ASAP's, rad."""
BESIDE = ("raw", "asap", "intervals", *(f"noise-{size:g}" for size in NOISES))
"""Rows that are made where they are asked for."""
KNOWN = (*ROWS, *BESIDE, *SWEPT, OUTSIDE)
FIRST_UNIT = 63
"""Of seed 0; units below it were seen while methods and trackers were made."""
STEP = 0.002
"""Physics step of tuning, s, as of what is evaluated: another one may be another robot."""


@dataclass
class Cell:
    """One motion and seed: its loop folder, and the simulators that methods make of it."""

    motion: Motion
    begun: Policy | None
    seed: int
    args: argparse.Namespace

    @cached_property
    def robot(self) -> Robot:
        """Nominal."""
        return Robot.load("g1_23dof", mount="free")

    def target(self, step: float = 0.002) -> World:
        """The robot of this seed."""
        name = f"{self.args.target}:{FIRST_UNIT + self.seed}"
        return world_of(name, self.robot, step)

    @cached_property
    def loop(self) -> PolicyLoop:
        """Trains, records and closes."""
        how = LoopSettings(
            train=TrainSettings().with_samples(self.args.samples), seed=self.seed, episodes=32
        )
        folder = self.args.out / f"{self.motion.name}_{self.seed}"
        with progress(f"{self.motion.name}, seed {self.seed}") as watch:
            return PolicyLoop(
                self.motion, self.robot, self.target(), folder, how, begun=self.begun, watch=watch
            )

    @cached_property
    def policy(self) -> Policy:
        """The pretrained one."""
        return self.loop.first()

    @cached_property
    def bench(self) -> Bench:
        """What every method is given: the takes, and a budget of reinforcement learning."""
        self.loop.closed(1, self.policy)
        split = Dataset.open(self.loop.path / "data_1").split("motion", seed=self.seed)
        world = MujocoWorld(self.robot, self.policy.contract.rate, physics_step=STEP)
        return Bench(
            *(world, split.without_test(), 0.5, self.args.budget, self.seed),
            settings={"asap": {"joints": ANKLES}},
        )

    def simulator(self, row: str) -> World:
        """Where a row is tuned."""
        if row == "ceiling":
            return self.target(STEP)
        if row in ("identify", "ours"):
            run = self.loop.closed(1, self.policy)
            # Where no parameter was kept, what was identified is the nominal robot.
            return run.worlds().get("identified", run.raw()) if row == "identify" else run.world()
        if row == "intervals":
            return self.loop.closed(1, self.policy).world()
        if row == OUTSIDE:
            return simulator_of_another(self.args.out, self.args.recorded, self.seed)
        if row in SWEPT:
            run = self.loop.closed(1, self.policy)
            return swept_simulator(run, self.bench.split, row, self.seed)
        if row == "raw" or row.startswith("noise-"):
            return MujocoWorld(self.robot, self.policy.contract.rate, physics_step=STEP)
        bench = replace(self.bench, settings={}) if row == "asap" else self.bench
        return METHODS[row.removesuffix("-ankles")](bench)

    @property
    def takes(self) -> list[Recording]:
        """Those that teach: as in `gapless loop`, ours makes up for what it misses of them."""
        return taught_takes(self.loop.closed(1, self.policy), self.loop.path / "data_1")

    def settings(self, row: str) -> TrainSettings:
        """Of its tuning: equal but for what the row is about, and a robot is one alone."""
        how = FINETUNED.with_samples(self.args.tuning)
        if row == "ceiling":
            return replace(how, vary=0, ranges="")
        if row == "intervals":
            return replace(how, ranges="intervals")
        noise = float(row.removeprefix("noise-")) if row.startswith("noise-") else 0.0
        return replace(how, action_noise=noise)

    def tuned(self, row: str) -> Policy:
        """The policy of a row."""
        if row in ("oracle", "vanilla"):
            return self.policy
        folder = self.loop.path / row
        if folder.exists():
            return Policy.load(folder)
        with progress(f"{self.motion.name}, seed {self.seed}, {row}") as watch:
            return finetune(
                *(self.policy, self.simulator(row), folder),
                self.settings(row),
                motion=self.motion,
                takes=self.takes if row == "ours" else (),
                seed=self.seed,
                checkpoint=self.loop.path / f".{row}.safetensors",
                watch=watch,
            )

    def scored(self, row: str) -> dict[str, float]:
        """ASAP's columns of a row, and the seconds that its making took."""
        began = time.perf_counter()
        policy = self.tuned(row)
        seconds = time.perf_counter() - began
        world = MujocoWorld(self.robot) if row == "oracle" else self.target()
        asked = Scenario(episodes=32, seed=77 + self.seed)
        found = evaluate(policy, {"robot": world}, asked, motion=self.motion)
        return {**scores_of(found), "seconds": round(seconds)}


def study(args: argparse.Namespace) -> dict[str, Any]:
    """Every row and seed of a motion; those that the results have are not made again."""
    robot = Robot.load("g1_23dof", mount="free")
    motion = replace(read_motions(args.motion, robot)[0], name=args.motion.stem)
    found = read_json(args.results) if args.results.exists() else {}
    begun = Policy.load(args.policy) if args.policy else None
    for seed in args.seeds:
        cell = Cell(motion, begun, seed, args)
        for row in args.rows:
            own = found.setdefault(motion.name, {}).setdefault(row, {})
            if str(seed) not in own:
                own[str(seed)] = cell.scored(row)
                write_json(args.results, found)
                Console(stderr=True).print(motion.name, row, seed, own[str(seed)])
    return found


def queued(args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    """Every motion of a queue; what cannot be made is said, and the next is gone on with."""
    missed = 0
    for entry in read_queue(args.queue, KNOWN):
        for row in entry.rows:
            try:
                study(_asked(args, entry, row))
            except GaplessError as error:
                missed += 1
                told = f"{entry.file}, {row}: {error}"
                Console(stderr=True).print(told, markup=False, soft_wrap=True)
    return read_json(args.results) if args.results.exists() else {}, missed


def _asked(args: argparse.Namespace, entry: QueuedMotion, row: str) -> argparse.Namespace:
    """What a row of a queued motion is made with."""
    motion, policy = file_of(entry.file, args.motions, "--motions"), None
    if entry.policy:
        robot = Robot.load("g1_23dof", mount="free")
        seconds = read_motions(motion, robot)[0].seconds
        network = file_of(entry.policy, args.policies, "--policies")
        policy = contract_beside(network, seconds, args.out / "contracts")
    return argparse.Namespace(**{**vars(args), "motion": motion, "policy": policy, "rows": [row]})


def table(motion: str, rows: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Rows by ASAP's columns, mean ± std over seeds."""
    shown = Table("tuned in", *SCORES, "seeds", title=f"{motion}: on the robot")
    for row in (r for r in KNOWN if r in rows):
        cells = list(rows[row].values())
        columns = [_spread([c[name] for c in cells]) for name in SCORES]
        shown.add_row(row, *columns, str(len(cells)))
    return shown


def _spread(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.3g}"
    return f"{np.mean(values):.3g} ± {np.std(values, ddof=1):.2g}"


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motion", type=Path, nargs="?")
    parser.add_argument("--queue", type=Path, help="motions and rows to make, one after another")
    parser.add_argument("--motions", type=Path, help="folder of the queue's motions")
    parser.add_argument("--policies", type=Path, help="folder of the queue's pretrained trackers")
    parser.add_argument("--policy", type=Path, help="contract of a pretrained tracker")
    parser.add_argument("--recorded", help="motion whose takes `outside` is tuned by")
    parser.add_argument("--target", default="physx:hard")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", nargs="+", choices=KNOWN, default=list(ROWS))
    parser.add_argument("--samples", type=float, default=4e6, help="of a training")
    parser.add_argument("--tuning", type=float, default=1.2e6, help="samples of each tuning")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds of PPO on a delta")
    parser.add_argument("--out", type=Path, default=Path("out/closed_loop"))
    parser.add_argument("--results", type=Path, default=Path("docs/closed_loop.json"))
    args = parser.parse_args()
    if (args.motion is None) == (args.queue is None):
        parser.error("which motion? give its file, or --queue FILE")
    results, missed = queued(args) if args.queue else (study(args), 0)
    for motion, rows in results.items():
        Console(width=140).print(table(motion, rows))
    raise SystemExit(1 if missed else 0)


if __name__ == "__main__":
    main()
