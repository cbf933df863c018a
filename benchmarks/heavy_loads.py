"""HALO's downstream table: trackers that carry a load, tuned with what is known of it.

A hidden G1 (unit 71 + seed of `mujoco:typical`) carries a load. With its left foot clamped it plays
three clips without and three with it; `identify --plan two-stage` finds the load from these alone.
Then one tracker is tuned four times, with equal samples: `wdr` (nominal model, wide ranges), `cm`
(true masses, nominal centres, narrow), `identified` (narrow), `intervals` (of what was identified).
All are scored on the hidden robot on its feet with its load; `start` is the tracker as it was.
Clips are excitation motions under stiffer gains, not an exploration policy.

    python benchmarks/heavy_loads.py --policies FOLDER --motions FOLDER --seeds 0 1 2

Whatever is done is kept, cell by cell, and the same command goes on. A motion without a released
tracker is trained first.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from closed_loop_queue import contract_beside, file_of
from halo_study import POSE, per_joint
from rich.console import Console
from rich.table import Table

from gapless import Calibration, Policy, Robot, Scenario, World, evaluate, finetune, train
from gapless.artifact import read_json, write_json
from gapless.cli.terminal import progress
from gapless.identification import IdentifySettings, identify
from gapless.identification.plans.two_stage import loads as found_loads
from gapless.motions import Motion, read_motions
from gapless.motions.excitation import multisine
from gapless.recordings import Conditions, Recording, Split
from gapless.robots import Payload
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training import FINETUNED
from gapless.tracking.training_worlds import calibrated_world
from gapless.worlds import HiddenWorld, MujocoWorld
from gapless.worlds.record import record

ROWS = ("start", "wdr", "cm", "identified", "intervals")
RANGES = {"wdr": "wide", "cm": "narrow", "identified": "narrow", "intervals": "intervals"}
SCORES = ("e_fpos", "e_epos", "e_ang", "e_g_mpjpe", "e_mpjpe")
MOTIONS = ("kick_level1", "side_jump_level1", "squat_level1")
"""Two agile ones with released trackers, and a steady one."""
UNIT = 71
"""Of seed 0; units below it were seen while this was made."""
STEP = 0.005
"""Physics step of everything, s."""
VARIED = 8
"""Simulators at once, in every row."""
CLIPS, SECONDS, RATE = 3, 10.0, 50.0
STIFFER = {"ankle": 30.0, "hip": 20.0, "knee": 10.0, "waist": 0.5}
"""Factors of kp and kd in the clips: legs that hold the body over one foot with their own torque
limits, and a waist that gives way, which shows what is on it."""
REACH = {"waist": 0.2, "shoulder": 0.25, "elbow": 0.35, "left": 0.02, "right": 0.1}
"""Share of the room to the limits that a joint uses; the first word found in its name counts."""
TORSO, HANDS = "torso_link", ("left_wrist_yaw_link", "right_wrist_yaw_link")
BEHIND = (-0.06, 0.03, 0.10)
"""Where the torso's load is, from the torso's centre of mass, m: high on the back, to the left."""
LOADS = {"10kg": (6.0, 2.0), "5kg": (3.0, 1.0)}
"""On the torso and on each hand, kg; the first is what HALO's robot carried."""
BASE = ("strength@motors", "frictionloss@motors", "damping@motors", "delay/all")
"""What the first stage finds of the robot. With masses, zeros and every motor of its own beside
these, clips of one stance left them open, and what was found of legs was wrong."""


@dataclass
class LoadCell:
    """One load and seed: the hidden robot, its recordings, and what they say."""

    load: str
    seed: int
    args: argparse.Namespace

    @property
    def folder(self) -> Path:
        """Of what is kept."""
        return self.args.out / f"{self.load}_{self.seed}"

    @cached_property
    def robot(self) -> Robot:
        """Nominal, on its feet."""
        return Robot.load("g1_23dof", mount="free")

    @cached_property
    def payloads(self) -> dict[str, Payload]:
        """What is really carried, and where."""
        torso, hand = LOADS[self.load]
        at = np.array(self.robot.inertia(TORSO).com) + BEHIND
        return {TORSO: Payload(torso, tuple(at.tolist())), **dict.fromkeys(HANDS, Payload(hand))}

    @property
    def unit(self) -> int:
        """Of the true robot."""
        return UNIT + self.seed

    def hidden(self, robot: Robot) -> HiddenWorld:
        """The true robot."""
        return HiddenWorld(robot, "typical", self.unit, physics_step=STEP)

    @cached_property
    def clamped(self) -> Robot:
        """Nominal, its left foot in a vise, the body above that foot."""
        held = self.robot.with_mount("left_foot")
        return held.with_joints(default={j: a for j, a in POSE.items() if j in held.joints.names})

    def clips(self) -> list[Recording]:
        """Encoders and commands, without and with the load, which no recording states."""
        robot = self.clamped
        world, stiff = self.hidden(robot), per_joint(robot, STIFFER, 1.0)
        pairs = zip(robot.joints.kp * stiff, robot.joints.kd * stiff, strict=True)
        gains = dict(zip(robot.joints.names, ((float(a), float(b)) for a, b in pairs), strict=True))
        home, reach = robot.joints.default, per_joint(robot, REACH, 0.1)
        found = []
        for k in range(2 * CLIPS):
            full = k >= CLIPS
            wave = multisine(robot, SECONDS, RATE, seed=100 * self.seed + k, amplitude=1.0)
            told = Conditions(payloads=self.payloads if full else {}, gains=gains)
            name = f"load_{k}" if full else f"bare_{k}"
            targets = home + reach * (wave - home)
            clip = record(world, targets, name, start=world.home(), conditions=told)
            said = replace(clip.conditions, payloads=None if full else {})
            found.append(replace(clip, channels={}, conditions=said))
        return found

    @property
    def calibrated(self) -> Path:
        """The file of what was identified."""
        return self.folder / f"calibration_{self.unit}.json"

    @cached_property
    def calibration(self) -> Calibration:
        """By two stages, from the clips alone."""
        file = self.calibrated
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            how = IdentifySettings(physics_step=STEP, windows=24, horizon=0.5)
            with progress(f"{self.load}, seed {self.seed}: identifying") as watch:
                found = identify(
                    *(Split.of(self.clips()), self.clamped, BASE),
                    plan="two-stage",
                    loaded=["load_*"],
                    settings=how,
                    keep_anyway=True,
                    checkpoint=self.folder / f".calibration_{self.unit}.progress",
                    watch=watch,
                )
            found.save(file)
        return Calibration.load(file)

    def identified(self) -> dict[str, Any]:
        """What was found of each loaded link, beside what it is: kg, and m of its centre."""
        loaded = self.calibration.loaded
        assert loaded is not None
        patched, found = loaded.apply(self.robot)[0], {}
        for load in found_loads(loaded):
            own, carried = patched.inertia(load.link), self.payloads[load.link]
            found[load.link] = {
                **{"kg": load.mass, "std_kg": load.std, "true_kg": carried.mass},
                **{"com": own.com, "true_com": self._true_centre(load.link)},
            }
        return found

    def _true_centre(self, link: str) -> list[float]:
        """Of a link with its load, as it was hung on; a unit grips some centimetres further out."""
        own, load = self.robot.inertia(link), self.payloads[link]
        return list(own.plus(load.mass, np.array(load.com or own.com)).com)

    def simulator(self, row: str) -> World:
        """Where the policy of a row is tuned."""
        if row in ("identified", "intervals"):
            return calibrated_world(self.calibration, self.robot, STEP)
        weighed = {link: Payload(load.mass) for link, load in self.payloads.items()}
        robot = self.robot.with_payloads(weighed) if row == "cm" else self.robot
        return MujocoWorld(robot, physics_step=STEP)

    def motion(self, name: str) -> Motion:
        """What is followed."""
        file = file_of(f"{name}_filter.pkl", self.args.motions, "--motions")
        return replace(read_motions(file, self.robot)[0], name=name)

    def begun(self, name: str) -> Policy:
        """The tracker that all rows begin with: ASAP's, or one trained here."""
        network, own = self.args.policies / f"{name}.onnx", self.args.out / f"tracker_{name}"
        if network.exists():
            seconds = self.motion(name).seconds
            return Policy.load(contract_beside(network, seconds, self.args.out / "contracts"))
        if own.exists():
            return Policy.load(own)
        with progress(f"training {name}") as watch:
            return train(
                *(self.motion(name), self.robot, own),
                TrainSettings().with_samples(self.args.samples),
                checkpoint=self.args.out / f".tracker_{name}.safetensors",
                watch=watch,
            )

    def tuned(self, row: str, name: str) -> Policy:
        """The policy of a row."""
        folder = self.folder / f"{name}_{row}"
        if row == "start" or folder.exists():
            return self.begun(name) if row == "start" else Policy.load(folder)
        how = replace(FINETUNED, vary=VARIED, ranges=RANGES[row]).with_samples(self.args.tuning)
        with progress(f"{name}, {self.load}, seed {self.seed}, {row}") as watch:
            return finetune(
                *(self.begun(name), self.simulator(row), folder, how),
                motion=self.motion(name),
                seed=self.seed,
                checkpoint=folder.with_name(f".{folder.name}.safetensors"),
                watch=watch,
            )

    def scored(self, row: str, name: str) -> dict[str, float]:
        """HALO's columns on the true robot with its true load; made where they are not there."""
        file = self.folder / f"{name}-{row}-{self.unit}.json"
        if not file.exists():
            began = time.perf_counter()
            policy = self.tuned(row, name)
            seconds = round(time.perf_counter() - began)
            world = self.hidden(self.robot.with_payloads(self.payloads))
            asked = Scenario(episodes=10, seed=77 + self.seed)
            found = evaluate(policy, {"robot": world}, asked, motion=self.motion(name)).worlds[0]
            good = sum(float(v or 0) for v in found.scores["success"])
            means = {k: found.mean(k) for k in SCORES}
            write_json(file, {**means, "of_10": good, "seconds": seconds})
        return read_json(file)


def study(args: argparse.Namespace) -> None:
    """Every cell that was asked for."""
    for seed in args.seeds:
        for load in args.loads:
            cell = LoadCell(load, seed, args)
            for name in args.pick:
                for row in args.rows:
                    Console(stderr=True).print(load, name, row, seed, cell.scored(row, name))


def gathered(args: argparse.Namespace) -> dict[str, Any]:
    """All that is there, whoever made it: what was identified, and scores by load, motion, row."""
    loads: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    for folder in sorted(args.out.glob("*kg_*")):
        load, _, seed = folder.name.partition("_")
        cell = LoadCell(load, int(seed), args)
        if cell.calibrated.exists():
            loads.setdefault(load, {})[seed] = cell.identified()
        for file in sorted(folder.glob(f"*-*-{cell.unit}.json")):
            name, row, _ = file.stem.split("-")
            scores.setdefault(f"{load}/{name}", {}).setdefault(row, {})[seed] = read_json(file)
    return {"loads": loads, "scores": scores}


def table(title: str, rows: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Rows by columns, mean ± std over seeds."""
    shown = Table("tuned with", *SCORES, "of 10", "seeds", title=f"{title}: on the true robot")
    for row in (r for r in ROWS if rows.get(r)):
        cells = list(rows[row].values())
        columns = [_spread([c[name] for c in cells]) for name in (*SCORES, "of_10")]
        shown.add_row(row, *columns, str(len(cells)))
    return shown


def _spread(values: list[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.3g}"
    return f"{np.mean(values):.3g} ± {np.std(values, ddof=1):.2g}"


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, required=True, help="ASAP's released trackers")
    parser.add_argument("--motions", type=Path, required=True, help="folder of ASAP's motions")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--loads", nargs="+", choices=list(LOADS), default=list(LOADS))
    parser.add_argument("--pick", nargs="+", default=list(MOTIONS), help="motions by name")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--samples", type=float, default=4e6, help="of a tracker that is trained")
    parser.add_argument("--tuning", type=float, default=3e5, help="samples of each tuning")
    parser.add_argument("--out", type=Path, default=Path("out/heavy_loads"))
    parser.add_argument("--results", type=Path, default=Path("docs/heavy_loads.json"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    study(args)
    found = gathered(args)
    write_json(args.results, found)
    for title, rows in found["scores"].items():
        Console(width=120).print(table(title, rows))


if __name__ == "__main__":
    main()
