"""SimLifter's bench: hidden H1-2 arms carry 0 to 3 kg a hand; units 1 to 3 teach, unit 4 tests.

Prints the replay error (mean |Δq|) of full replays by payload, on motions and a unit that no method
saw, for the raw simulator, corrections alone, identification, and both; and the offset of the hands
in the delivery task: each model says which targets bring the hands to a place under load, and unit
4 is driven there with them.

    python benchmarks/simlifter.py --data out/simlifter --hours 1 --json out/simlifter.json
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import CorrectedWorld, HiddenWorld, MujocoWorld, World, correct, identify
from gapless import measure as measured
from gapless.artifact import write_json
from gapless.collection import Collection, collect, preset
from gapless.corrections.correcting import CorrectSettings
from gapless.identification import Calibration, IdentifySettings
from gapless.motions.motion import min_jerk
from gapless.recordings import Conditions, Split
from gapless.recordings.splitting import unseen
from gapless.robots import Kinematics, Payload, Robot
from gapless.worlds import State

FIGURES = (
    *("strength", "damping", "armature", "frictionloss", "load_friction", "compliance"),
    *("encoder_bias", "delay@all", "mass/hands", "com_x/hands"),
)
"""Identified: a motor's strength scales its gains and its limit, which heavy loads reach; a load
sits where the hand's mass centre is, so that `com_x` says how far out it is held."""

UNIT, LOADS = 4, (0.0, 1.0, 2.0, 3.0)
PLACES = 12
"""Postures that the hands are driven to."""

MOVE, HOLD, LOOK = 2.0, 2.0, 1.0
"""Seconds of the way there, of the hold, and of its end over which the hands are looked at."""

SEEN = {"now": ("q", "dq", "error", "payload")}
CORRECTIONS: dict[str, dict[str, Any]] = {
    "operator": {"model": "operator"},
    "actuator": {"model": "actuator", "model_settings": SEEN},
    "mlp": {"model": "mlp", "model_settings": SEEN},
}
GENTLE = {"horizons": (0.3, 0.6), "iterations": 150, "samples": 6000, "rate": 1e-3}
"""Settings of the trainer where little is left to learn."""


@dataclass(frozen=True)
class Bench:
    """Units 1 to 3 teach and choose; unit 4 tests, in motions that are not among theirs."""

    robot: Robot
    split: Split
    seed: int


def bench(folder: Path, hours: float, rate: int = 50) -> Bench:
    """Collect the recordings, or go on from an earlier collection in the same folder."""
    plan = replace(preset("simlifter"), hours=hours, rates=(rate,), repeats=1)
    collect(plan, folder)
    collection = Collection.open(folder)
    fit, other = (collection.dataset(side, rate) for side in ("fit", "held_out"))
    own = fit.split("motion", test=0.2, choose=0.1, seed=0)
    robot = Robot.load(plan.robot, mount=plan.mount, lock=plan.lock)
    test = unseen(other, [*own.learn, *own.choose])
    return Bench(robot, Split.of(own.learn, own.choose, test), plan.seed)


def identified(data: Bench) -> Calibration:
    """Figures of the mean of units 1 to 3."""
    how = IdentifySettings(windows=96, hardest=0.2)
    seen = data.split.without_test()
    return identify(seen, data.robot, FIGURES, settings=how, keep_anyway=True)


def corrected(
    data: Bench, calibration: Calibration | None, seed: int = 0, **settings: Any
) -> CorrectedWorld:
    """A world with a correction that was trained on units 1 to 3."""
    if calibration:
        settings = {"trainer_settings": GENTLE, **settings}
    found = correct(
        data.split.without_test(),
        data.robot,
        calibration,
        settings=CorrectSettings(**settings),
        seed=seed,
        keep_anyway=True,  # a method that does not help is shown as such
    )
    world = MujocoWorld(data.robot, data.split.learn[0].rate)
    return CorrectedWorld(world, calibration, [found])


def by_payload(data: Bench, world: World) -> dict[str, float]:
    """Replay error of full replays of the test by the load on each hand, rad."""
    gap = measured(data.split.test, world, horizons=("full",))
    return {
        f"{load:g} kg": gap.by("payload", "replay_error", "full")[f"{2 * load:g} kg"].value
        for load in LOADS
    }


def delivered(data: Bench, model: World | None) -> dict[str, list[float]]:
    """Load -> mean |x|, |y|, |z| offset of the hands of unit 4, cm, steered by a model.

    Without a model the targets are the postures themselves.
    """
    robot, found = data.robot, {}
    real = HiddenWorld(robot, "typical", UNIT, data.seed)
    kinematics, hands = Kinematics.of(robot), robot.end_effectors
    wanted = postures(robot)
    there = kinematics.points(wanted, points=hands)
    for load in LOADS:
        told = Conditions(payloads={link: Payload(load) for link in robot.link_groups["hands"]})
        targets = wanted if model is None else steered(model, wanted, told)
        came = driven(real, targets, told)
        got = kinematics.points(came.reshape(-1, came.shape[-1]), points=hands)
        off = got.reshape(len(wanted), -1, *got.shape[1:]) - there[:, None]
        found[f"{load:g} kg"] = (100 * np.abs(off).mean(axis=(0, 1, 2))).tolist()
    return found


def postures(robot: Robot) -> np.ndarray:
    """(n, J) random postures in the middle of the joints' ranges."""
    low, high = robot.joints.lower, robot.joints.upper
    share = np.random.default_rng(7).uniform(-0.2, 0.2, (PLACES, len(low)))
    return np.clip(robot.joints.default + share * (high - low), low, high)


def steered(model: World, wanted: np.ndarray, told: Conditions) -> np.ndarray:
    """Targets with which a model comes to rest where it is wanted."""
    targets = wanted
    for _ in range(4):
        targets = targets + wanted - driven(model, targets, told).mean(axis=1)
    return targets


def driven(world: World, targets: np.ndarray, told: Conditions) -> np.ndarray:
    """(n, frames, J) positions at the end of a hold."""
    rate, home = world.rate, world.robot.joints.default
    way = min_jerk(np.linspace(0, 1, round(MOVE * rate)))[None, :, None]
    moves = home + way * (targets[:, None] - home)
    held = np.repeat(targets[:, None], round(HOLD * rate), axis=1)
    start = State(q=np.tile(home, (len(targets), 1)), dq=np.zeros_like(targets))
    played = world.rollout(
        start, np.concatenate([moves, held], axis=1), conditions=[told] * len(targets)
    )
    return played.q[:, -round(LOOK * rate) :]


def rows(data: Bench, names: list[str], seed: int) -> dict[str, dict[str, Any]]:
    """Every row asked for: its world judged, and the seconds it took."""
    found: dict[str, dict[str, Any]] = {}
    calibration, spent = None, 0.0
    if any(name.startswith("identify") for name in names):
        began = time.perf_counter()
        calibration = identified(data)
        spent = time.perf_counter() - began
    for name in ["raw", *names]:
        began = time.perf_counter()
        world: World = MujocoWorld(data.robot)
        figures = calibration if name.startswith("identify") else None
        learned = name.removeprefix("identify").removeprefix("+")
        if learned in CORRECTIONS:
            world = corrected(data, figures, seed, **CORRECTIONS[learned])
        elif figures is not None:
            world = figures.world(data.robot)
        seconds = time.perf_counter() - began + (spent if figures else 0.0)
        found[name] = {
            "replay_error": by_payload(data, world),
            "delivery_cm": delivered(data, world),
            "seconds": seconds,
        }
        Console(stderr=True).print(name, found[name])
    return found


def table(found: dict[str, dict[str, Any]]) -> Table:
    """Errors, and how much less than the raw simulator's they are."""
    shown = Table(
        title="unit 4, unseen motions: replay error, rad (less than raw), and delivery Z, cm"
    )
    shown.add_column("method")
    for load in found["raw"]["replay_error"]:
        shown.add_column(load, justify="right")
        shown.add_column(f"Z, {load}", justify="right")
    shown.add_column("s", justify="right")
    raw = found["raw"]
    for name, row in found.items():
        cells = []
        for load, value in row["replay_error"].items():
            less = 100 * (1 - value / raw["replay_error"][load])
            z, raw_z = row["delivery_cm"][load][2], raw["delivery_cm"][load][2]
            cells += [f"{value:.4f} ({less:.0f} %)", f"{z:.2f} ({100 * (1 - z / raw_z):.0f} %)"]
        shown.add_row(name, *cells, f"{row['seconds']:.0f}")
    return shown


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("out/simlifter"))
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument(
        "--rows",
        nargs="*",
        default=["operator", "identify", "identify+operator", "identify+actuator"],
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = rows(bench(args.data, args.hours), args.rows, args.seed)
    Console(width=160).print(table(found))
    if args.json:
        write_json(args.json, found)


if __name__ == "__main__":
    main()
