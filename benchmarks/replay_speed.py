"""Replay throughput of MujocoWorld as a fraction of bare mujoco.rollout.

Baseline: mujoco.rollout.Rollout on the same model, threads, physics step and controls, timed in the
same run, the two alternating. Prints simulated seconds per second of each, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco import rollout

from gapless.motions.excitation import multisine
from gapless.robots import Robot
from gapless.worlds import MujocoWorld

ENVIRONMENTS, SECONDS, REPEATS = 256, 1.0, 7


def timed(work: Callable[[], object]) -> float:
    """Seconds one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(name: str, robot: Robot) -> dict[str, float | str]:
    """Alternate bare and ours; medians keep a neighbour's load out of the ratio."""
    world = MujocoWorld(robot)
    motions = [multisine(robot, 4.0, world.rate, seed=s, amplitude=0.2) for s in range(8)]
    steps = round(SECONDS * world.rate)
    first = [(s * 17) % (len(motions[0]) - steps) for s in range(ENVIRONMENTS)]
    targets = np.stack([motions[s % 8][first[s] : first[s] + steps] for s in range(ENVIRONMENTS)])
    start = world.home(ENVIRONMENTS)

    threads = os.cpu_count() or 1
    pool = rollout.Rollout(nthread=threads)
    data = [mujoco.MjData(world.model) for _ in range(threads)]
    packed = world._layout.pack(start)
    control = np.repeat(targets, world.substeps, axis=1)

    def bare() -> None:
        pool.rollout(world.model, data, packed, control)

    def ours() -> None:
        world.rollout(start, targets)

    bare(), ours()
    pairs = [(timed(bare), timed(ours)) for _ in range(REPEATS)]
    ratio = float(np.median([b / o for b, o in pairs]))
    slow, fast = np.median([o for _, o in pairs]), np.median([b for b, _ in pairs])
    return {
        "robot": name,
        "environments": ENVIRONMENTS,
        "threads": threads,
        "bare_rollout_sim_s_per_s": round(ENVIRONMENTS * SECONDS / fast, 1),
        "gapless_sim_s_per_s": round(ENVIRONMENTS * SECONDS / slow, 1),
        "fraction_of_bare": round(ratio, 3),
    }


def main() -> None:
    """Print one line a robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    rows = [
        compare("g1, pelvis fixed", Robot.load("g1", mount="fixed")),
        compare("g1, on the floor", Robot.load("g1", mount="free")),
    ]
    for row in rows:
        print(
            f"{row['robot']}: {row['gapless_sim_s_per_s']} simulated s/s, bare mujoco.rollout "
            f"{row['bare_rollout_sim_s_per_s']}, fraction {row['fraction_of_bare']} "
            f"({row['environments']} environments, {row['threads']} threads)"
        )
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
