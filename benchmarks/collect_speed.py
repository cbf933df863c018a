"""Speed of `gapless collect` as a fraction of bare mujoco.rollout, and what each effect costs.

Baseline: mujoco.rollout.Rollout over the same models, threads, steps and controls as the robots and
their replicas need, timed in the same run, the two alternating; it keeps and writes nothing. Ours
is the whole of `collect`: hidden robots, replicas, files, statistics, card. Then the cost of each
effect that needs torques between physics steps, alone, and the peak memory of some robot times.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import tyro
from mujoco import rollout

from gapless.collection import CollectionPlan, collect, preset
from gapless.collection.pairing import batches
from gapless.collection.plan_presets import SIMLIFTER_HOURS
from gapless.collection.plan_worlds import replica_world, target_world
from gapless.collection.repertoire import repertoire
from gapless.collection.starts import conditions_of
from gapless.worlds.hidden import EFFECTS
from gapless.worlds.hidden.effect_sizes import PLAIN

ENVIRONMENTS = 64
"""Sequences that the cost of an effect is measured with."""


@dataclass(frozen=True)
class Options:
    """Speed and memory of collecting."""

    hours: float = 0.5
    """Robot time of the workload."""
    repeats: int = 3
    """How often bare and ours alternate."""
    memory_hours: tuple[float, ...] = (1.0, 3.0)
    """Robot times whose peak memory is compared; empty for none."""
    effects: bool = True
    """Measure each extended effect alone."""
    json: Path | None = None
    """File for the figures."""


def workload(hours: float) -> CollectionPlan:
    """SimLifter's arms, fixed, with the effects that need no torque between physics steps."""
    return replace(preset("simlifter"), hours=hours, only=PLAIN)


def timed(work: Callable[[], object]) -> np.ndarray:
    """Seconds one call takes: on the clock, and of all processor cores together."""
    start = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - start


def bare(plan: CollectionPlan) -> np.ndarray:
    """Seconds (clock, processor) of mujoco.rollout for a plan's physics, robots and replicas."""
    chosen, threads, total = repertoire(plan), os.cpu_count() or 1, np.zeros(2)
    for rate in plan.rates:
        world, targets = replica_world(plan, chosen.robot, rate), chosen.targets(rate)
        pool = rollout.Rollout(nthread=threads)
        data = [mujoco.MjData(world.model) for _ in range(threads)]
        for split in plan.splits:
            for batch in batches(plan.sequences(split, rate, chosen.names), targets, plan.batch):
                stacked = np.stack([targets[s.motion] for s in batch])
                models = world._models_for(
                    len(batch), [conditions_of(plan, s, world) for s in batch]
                )
                start = replace(world.home(len(batch)), q=stacked[:, 0])
                inputs = world._layout.pack(start), stacked.repeat(world.substeps, axis=1)
                for _ in ("robot", "replica"):
                    total += timed(partial(pool.rollout, models, data, *inputs))
    return total


def ours(plan: CollectionPlan) -> np.ndarray:
    """Seconds (clock, processor) of a whole collection on disk."""
    with tempfile.TemporaryDirectory() as folder:
        return timed(lambda: collect(plan, Path(folder, "out")))


def compare(options: Options) -> dict[str, float]:
    """Alternate; medians keep a neighbour's load out of the ratio."""
    plan = workload(options.hours)
    motions = len(repertoire(plan).motions)
    hours = motions * plan.takes * plan.seconds / 3600
    pairs = [(bare(plan), ours(plan)) for _ in range(options.repeats)]
    slow = float(np.median([own[0] for _, own in pairs]))
    clock, processor = np.median([free / own for free, own in pairs], axis=0).tolist()
    return {
        "robot_hours": round(hours, 3),
        "fraction_of_bare": round(clock, 3),
        "fraction_of_bare_processor_time": round(processor, 3),
        "robot_hours_per_minute": round(60 * hours / slow, 3),
        "minutes_for_simlifter": round(SIMLIFTER_HOURS * slow / 60 / hours, 1),
    }


def cost_of_effects() -> dict[str, float]:
    """Time of a hidden robot with one extended effect, over one with the plain effects only."""
    plan = workload(0.01)
    chosen = repertoire(plan)
    targets = chosen.targets(50)
    batch = (plan.sequences("fit", 50, chosen.names) * ENVIRONMENTS)[:ENVIRONMENTS]
    stacked = np.stack([targets[s.motion] for s in batch])[:, :100]
    nominal = replica_world(plan, chosen.robot, 50)
    start = replace(nominal.home(len(batch)), q=stacked[:, 0])
    conditions = [conditions_of(plan, s, nominal) for s in batch]

    def seconds(only: tuple[str, ...] | None) -> float:
        world = target_world(replace(plan, only=only), chosen.robot, 1, 50)
        world.rollout(start, stacked[:, :5], conditions=conditions)
        return timed(lambda: world.rollout(start, stacked, conditions=conditions))[1]

    extended = {name: (*PLAIN, name) for name in EFFECTS if name not in PLAIN}
    rows = {}
    for name, only in (extended | {"all together": None}).items():
        pairs = [(seconds(only), seconds(PLAIN)) for _ in range(3)]
        rows[name] = round(float(np.median([own / plain for own, plain in pairs])), 2)
    return rows


def _peak(hours: float, answer: object) -> None:
    ours(workload(hours))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.put(peak)  # type: ignore[attr-defined]


def peak_memory(hours: float) -> float:
    """Megabytes at the peak of a process that collects so many hours."""
    spawn = multiprocessing.get_context("spawn")
    answer = spawn.SimpleQueue()
    process = spawn.Process(target=_peak, args=(hours, answer))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"collecting {hours:g} h failed")
    return round(answer.get(), 1)


def main(options: Options) -> None:
    """Print speed, cost of effects and memory."""
    figures: dict[str, object] = dict(compare(options))
    print(
        f"collect, plain effects: {figures['fraction_of_bare']} of bare mujoco.rollout by the "
        f"clock, {figures['fraction_of_bare_processor_time']} by processor time, which a busy "
        f"machine changes less ({figures['robot_hours']} robot hours, "
        f"{figures['robot_hours_per_minute']} a minute; SimLifter's {SIMLIFTER_HOURS} h in "
        f"{figures['minutes_for_simlifter']} minutes)"
    )
    if options.effects:
        figures["cost"] = costs = cost_of_effects()
        for name, ratio in costs.items():
            print(f"effect {name:14s} {ratio:5.2f} x the time of the plain effects")
    figures["peak_megabytes"] = peaks = {str(h): peak_memory(h) for h in options.memory_hours}
    for hours, megabytes in peaks.items():
        print(f"peak memory of {hours} h: {megabytes} MB")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main(tyro.cli(Options))
