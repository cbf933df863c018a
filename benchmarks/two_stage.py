"""HALO's two stages against one, with a wrong base model: a G1 with one foot clamped.

The hidden robot's links weigh up to 10 % more or less, their centres are up to 1 cm off on each
axis, and its joints have 1.5 times the friction. Three clips without a load and three with one.
Prints the error of the load's mass by both plans; both start from the nominal figures.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np
from halo_study import CASES, HANDS, PHYSICS_STEP, TORSO, Load, clips, loaded, study_robot
from rich.console import Console
from rich.table import Table

from gapless.identification import Calibration, IdentifySettings, identify
from gapless.identification.plans.two_stage import loads
from gapless.parameters import parameters_of
from gapless.recordings import Recording, Split
from gapless.robots import Inertia, Robot

BASE = ("inertials", "frictionloss@all", "damping@all")
SETTINGS = IdentifySettings(physics_step=PHYSICS_STEP, windows=30, loss="squared", starts="free")


def wrong_base(robot: Robot, seed: int) -> Robot:
    """The real robot, which no data sheet describes."""
    rng = np.random.default_rng(seed)
    links = [p.places[0] for p in parameters_of(robot, "mass")]
    changed = {}
    for link in links:
        own = robot.inertia(link)
        share, shift = rng.uniform(0.9, 1.1), rng.uniform(-0.01, 0.01, 3)
        changed[link] = Inertia.of(share * own.mass, np.array(own.com) + shift, own.tensor)
    joints = robot.joints
    return robot.with_inertias(changed).with_joints(
        frictionloss=1.5 * joints.frictionloss, damping=1.5 * joints.damping
    )


def recordings(real: Robot, load: Load, seed: int) -> list[Recording]:
    """Three unloaded and three loaded clips."""
    full = clips(loaded(real, load), seed + 50)
    return [*clips(real, seed), *(replace(c, name=f"load_{c.name}") for c in full)]


def mass_errors(found: Calibration, load: Load) -> dict[str, float]:
    """Link -> found minus true load, kg."""
    true = {TORSO: load.torso, **dict.fromkeys(HANDS, load.hand)}
    return {got.link: got.mass - true[got.link] for got in loads(found)}


def compare(case: str, seed: int) -> dict[str, object]:
    """Both plans on one hidden robot."""
    nominal, load = study_robot(), CASES[case]
    data = recordings(wrong_base(nominal, seed), load, seed)
    row: dict[str, object] = {"case": case, "seed": seed}
    for plan in ("two-stage", "one-stage"):
        began = time.perf_counter()
        found = identify(
            Split.of(data),
            nominal,
            BASE,
            plan=plan,
            loaded=["load_*"],
            settings=SETTINGS,
            keep_anyway=True,
        )
        errors = mass_errors(found.loaded or found, load)
        row[plan] = {
            "errors_kg": errors,
            "mean_kg": float(np.mean(np.abs(list(errors.values())))),
            "seconds": time.perf_counter() - began,
        }
    return row


def main() -> None:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=["a", "b", "c"], choices=list(CASES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    rows = [compare(case, seed) for case in args.cases for seed in range(args.seeds)]
    table = Table(
        *("case", "seed", "two-stage, kg", "one-stage, kg", "ratio", "two-stage, s"),
        title="mean error of the load's mass over torso and hands",
    )
    for row in rows:
        two, one = row["two-stage"], row["one-stage"]
        table.add_row(
            *(str(row["case"]), str(row["seed"])),
            *(f"{two['mean_kg']:.3f}", f"{one['mean_kg']:.3f}"),  # type: ignore[index]
            f"{two['mean_kg'] / one['mean_kg']:.2f}",  # type: ignore[index]
            f"{two['seconds']:.0f}",  # type: ignore[index]
        )
    Console(width=100).print(table)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
