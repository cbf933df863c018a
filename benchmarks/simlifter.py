"""SimLifter's bench: hidden H1-2 arms carry 0 to 3 kg a hand; units 1 to 3 teach, unit 5 tests.

Prints the replay error (mean |Δq|) of full replays by payload, on motions and a unit that no method
saw, for the raw simulator, corrections alone, identification, and both; and the offset of the hands
in the delivery task: each model says which targets bring the hands to a place under load, and unit
5 is driven there with them. Where its hands really are is seen, not what its encoders say.

A seed draws which motions choose and what trainings draw; the test is the same for all.

    python benchmarks/simlifter.py --data out/simlifter --hours 1 --json out/simlifter.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import CorrectedWorld, HiddenWorld, MujocoWorld, World, correct, identify
from gapless import measure as measured
from gapless.artifact import read_json, write_json
from gapless.collection import Collection, collect, preset
from gapless.corrections.correcting import CorrectSettings
from gapless.identification import Calibration, IdentifySettings
from gapless.motions.motion import min_jerk
from gapless.recordings import Conditions, Split
from gapless.recordings.splitting import split_recordings, unseen
from gapless.robots import Kinematics, Payload, Robot
from gapless.worlds import State
from gapless.worlds.hidden.true_state import true_rollout

FIGURES = (
    *("strength", "damping", "armature", "frictionloss", "load_friction", "compliance"),
    *("encoder_bias", "delay@all", "mass/hands", "com_x/hands"),
)
"""Identified: a motor's strength scales its gains and its limit, which heavy loads reach; a load
sits where the hand's mass centre is, so that `com_x` says how far out it is held."""

UNIT, LOADS = 5, (0.0, 1.0, 2.0, 3.0)
"""The unit that tests (the set of parameters was put together on unit 4), and kg on each hand."""

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
    """Units 1 to 3 teach and choose; another tests, in motions that are not among theirs."""

    robot: Robot
    split: Split
    seed: int


def bench(folder: Path, hours: float, rate: int = 50, seed: int = 0) -> Bench:
    """Collect the recordings, or go on from an earlier collection in the same folder."""
    plan = replace(preset("simlifter"), hours=hours, rates=(rate,), repeats=1, held_out=(UNIT,))
    collect(plan, folder)
    collection = Collection.open(folder)
    fit, other = (collection.dataset(side, rate) for side in ("fit", "held_out"))
    own = fit.split("motion", test=0.2, choose=0.1, seed=0)
    if seed:  # the test stays what it is
        mine = split_recordings([*own.learn, *own.choose], test=0.0, choose=0.1, seed=seed)
        own = Split.of(mine.learn, mine.choose)
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
    """Load -> mean |x|, |y|, |z| offset of the hands of that unit, cm, steered by a model.

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
    targets, conditions = np.concatenate([moves, held], axis=1), [told] * len(targets)
    if isinstance(world, HiddenWorld):
        played = true_rollout(world, start, targets, conditions).q
    else:  # a model knows how far its encoders are off
        inner = world.world if isinstance(world, CorrectedWorld) else world
        assert isinstance(inner, MujocoWorld)
        played = world.rollout(start, targets, conditions=conditions).q
        played = played - inner.effects.encoder_bias
    return played[:, -round(LOOK * rate) :]


def rows(
    data: Bench, names: list[str], seed: int, done: dict[str, Any], keep: Callable[[], None]
) -> None:
    """Every row asked for that is not done: its world judged, and the seconds it took."""
    calibration, spent = None, 0.0
    names = [name for name in ("raw", *names) if name not in done]
    if any(name.startswith("identify") for name in names):
        began = time.perf_counter()
        calibration = identified(data)
        spent = time.perf_counter() - began
    for name in names:
        began = time.perf_counter()
        world: World = MujocoWorld(data.robot)
        figures = calibration if name.startswith("identify") else None
        learned = name.removeprefix("identify").removeprefix("+")
        if learned in CORRECTIONS:
            world = corrected(data, figures, seed, **CORRECTIONS[learned])
        elif figures is not None:
            world = figures.world(data.robot)
        seconds = time.perf_counter() - began + (spent if figures else 0.0)
        done[name] = {
            "replay_error": by_payload(data, world),
            "delivery_cm": delivered(data, world),
            "seconds": seconds,
        }
        Console(stderr=True).print(seed, name, done[name])
        keep()


def table(found: list[dict[str, Any]], metric: str) -> Table:
    """A metric by load, mean ± std over seeds, and how much less than the raw simulator's."""
    shown = Table(title=f"unit {UNIT}, held-out motions, {len(found)} seeds: {TITLES[metric]}")
    shown.add_column("method")
    for load in found[0]["raw"][metric]:
        shown.add_column(load, justify="right")
    shown.add_column("s", justify="right")
    for name in found[0]:
        each = np.array([_numbers(seed[name][metric]) for seed in found if name in seed])
        raw = np.array([_numbers(seed["raw"][metric]) for seed in found if name in seed])
        spread = each.std(axis=0, ddof=1) if len(each) > 1 else np.zeros(each.shape[1])
        less = 100 * (1 - each / raw).mean(axis=0)
        seconds = np.mean([seed[name]["seconds"] for seed in found if name in seed])
        cells = zip(each.mean(axis=0), spread, less, strict=True)
        shown.add_row(
            name, *(f"{m:.4f} ± {s:.4f} (-{p:.0f} %)" for m, s, p in cells), f"{seconds:.0f}"
        )
    return shown


TITLES = {
    "replay_error": "replay error of full replays, rad (less than raw)",
    "delivery_cm": "height error of the hands when delivering, cm (less than raw)",
}


def _numbers(by_load: dict[str, Any]) -> list[float]:
    """Of each load; of an offset its height."""
    return [value[2] if isinstance(value, list) else value for value in by_load.values()]


def main() -> None:
    """Parse and run; rows that the file has are not trained again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("out/simlifter"))
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument(
        "--rows",
        nargs="*",
        default=["operator", "identify", "identify+operator", "identify+actuator"],
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = read_json(args.json)["seeds"] if args.json and args.json.exists() else []
    for seed in range(args.seeds):
        if seed == len(found):
            found.append({})
        keep = partial(write_json, args.json, {"seeds": found}) if args.json else lambda: None
        rows(bench(args.data, args.hours, seed=seed), args.rows, seed, found[seed], keep)
    for metric in TITLES:
        Console(width=160).print(table(found, metric))


if __name__ == "__main__":
    main()
