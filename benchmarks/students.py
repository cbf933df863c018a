"""One student of ASAP's four released trackers: a plain network and a flow of equal size.

Teachers and students are evaluated motion by motion, in the robot's own simulator and on units of
`physx:hard` that decided nothing (41 + seed). Prints E_mpjpe, success and the time of one decision;
every student and every evaluation is kept, and the same command makes what is missing.

    python benchmarks/students.py --policies FOLDER --motions FOLDER FOLDER --out out/students \\
        --seeds 0 1 2 --json docs/students.json
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gapless import ImitateSettings, Policy, Robot, Scenario, evaluate, imitate
from gapless.artifact import read_json, write_json
from gapless.imitation.student_contract import NETWORK
from gapless.motions import Motion, read_motions
from gapless.policies.onnx_network import OnnxNetwork
from gapless.progress import Progress, Watch
from gapless.worlds.named_worlds import world_of

TRACKERS = ("CR7_level1", "jump_forward_level1", "kick_level1", "side_jump_level1")
CONTRACT = Path(__file__).with_name("asap_tracker.toml")
MODELS = ("mlp", "flow")
OWN, HARD = "own", "hard"
UNIT = 41
"""The first of the hard units."""
SCORES = ("e_mpjpe", "e_g_mpjpe", "success", "survival")
CALLS = 2000
"""Decisions whose median time is printed."""


@dataclass(frozen=True)
class StudentBench:
    """Where everything is, and what is asked."""

    policies: Path
    motions: Sequence[Path]
    out: Path
    settings: ImitateSettings
    episodes: int
    models: Sequence[str] = MODELS

    @property
    def everyone(self) -> tuple[str, ...]:
        """Columns."""
        return ("teacher", *self.models)

    @property
    def robot(self) -> Robot:
        """ASAP's G1."""
        return Robot.load("g1_23dof", mount="free")

    def motion(self, name: str) -> Motion:
        """What a tracker follows."""
        files = [folder / f"{name}_filter.pkl" for folder in self.motions]
        return read_motions(next(f for f in files if f.exists()), self.robot)[0]

    def teacher(self, name: str) -> Policy:
        """One of ASAP's, by a contract that is written for it."""
        file = self.out / f"{name}.toml"
        if not file.exists():
            self.out.mkdir(parents=True, exist_ok=True)
            network = (self.policies / f"{name}.onnx").resolve()
            said = CONTRACT.read_text()
            seconds = f"[motion]\nseconds = {self.motion(name).seconds}\n"
            file.write_text(
                f'network = "{network}"\n' + said.replace("[action]", seconds + "[action]")
            )
        return Policy.load(file)

    def student(self, model: str, seed: int) -> Path:
        """The folder of a student, made where it is not there."""
        folder = self.out / f"{model}_{seed}"
        if not folder.exists():
            imitate(
                *([self.teacher(n) for n in TRACKERS], self.robot, folder, self._how(model)),
                motions=[self.motion(n) for n in TRACKERS],
                seed=seed,
                checkpoint=folder.with_name(f".{folder.name}.progress"),
                watch=_told(),
            )
        return folder

    def _how(self, model: str) -> ImitateSettings:
        return ImitateSettings(**{**self.settings.to_dict(), "model": model})

    def scores(self, who: str, motion: str, where: str, seed: int) -> dict[str, float]:
        """A cell: means over episodes."""
        file = self.out / "cells" / f"{who}-{motion}-{where}-{seed}.json"
        if not file.exists():
            write_json(file, self._evaluated(who, motion, where, seed))
        return read_json(file)

    def _evaluated(self, who: str, motion: str, where: str, seed: int) -> dict[str, float]:
        taught = who == "teacher"
        policy = (
            self.teacher(motion)
            if taught
            else Policy.load(self.student(who, seed) / f"{motion}.toml")
        )
        name = "mujoco" if where == OWN else f"physx:hard:{UNIT + seed}"
        asked = Scenario(episodes=self.episodes, seed=seed)
        worlds = {where: world_of(name, self.robot)}
        found = evaluate(policy, worlds, asked, motion=self.motion(motion)).worlds[0]
        return {k: found.survival if k == "survival" else found.mean(k) for k in SCORES}


def _told() -> Watch:
    """A line for every stage."""
    last = ""

    def watch(now: Progress) -> None:
        nonlocal last
        if now.stage != last or (now.figures and now.done == now.total):
            Console(stderr=True).print(time.strftime("%H:%M:%S"), now.stage, dict(now.figures))
        last = now.stage

    return watch


def latency(network: OnnxNetwork) -> float:
    """Median time of one decision on one thread, µs."""
    seen, took = np.random.default_rng(0).normal(size=(1, network.width or 1)), []
    for _ in range(CALLS):
        began = time.perf_counter()
        network.run(seen, {}, np.zeros(1, int))
        took.append(time.perf_counter() - began)
    return 1e6 * float(np.median(took))


def spread(values: Sequence[float]) -> list[float]:
    """Mean, and standard deviation where there are several."""
    return [float(np.mean(values))] + ([float(np.std(values, ddof=1))] if len(values) > 1 else [])


def gathered(bench: StudentBench, seeds: Sequence[int]) -> dict[str, Any]:
    """Every cell of all seeds; what is missing is made, seed by seed."""
    for seed in seeds:
        for model in bench.models:
            bench.student(model, seed)
            for where in (OWN, HARD):
                for who in ("teacher", model):
                    for motion in TRACKERS:
                        bench.scores(who, motion, where, seed)
                        Console(stderr=True).print(f"{who} {motion} {where} {seed}")
    rows = {
        f"{who}/{motion}/{where}": {
            k: spread([bench.scores(who, motion, where, seed)[k] for seed in seeds]) for k in SCORES
        }
        for where in (OWN, HARD)
        for who in bench.everyone
        for motion in TRACKERS
    }
    return {"seeds": list(seeds), "episodes": bench.episodes, "scores": rows} | facts(bench, seeds)


def facts(bench: StudentBench, seeds: Sequence[int]) -> dict[str, Any]:
    """Time of a decision, sizes, and minutes of making."""
    networks = {m: bench.student(m, seeds[0]) / NETWORK for m in bench.models}
    networks["teacher"] = bench.policies / f"{TRACKERS[0]}.onnx"
    made = {
        m: [read_json(bench.student(m, s) / "training.json") for s in seeds] for m in bench.models
    }
    return {
        "latency_us": {m: latency(_opened(path)) for m, path in networks.items()},
        "parameters": {m: found[0]["parameters"] for m, found in made.items()},
        "minutes": {m: spread([f["seconds"] / 60 for f in found]) for m, found in made.items()},
        "settings": bench.settings.to_dict(),
    }


def _opened(path: Path) -> OnnxNetwork:
    from gapless.policies.policy_contract import Ports

    return OnnxNetwork(path, Ports())


def show(found: dict[str, Any], everyone: Sequence[str]) -> None:
    """Tables of E_mpjpe and success, a row a motion."""
    for where in (OWN, HARD):
        table = Table("motion", title=f"{where}: E_mpjpe mm (success %)")
        for who in everyone:
            table.add_column(who, justify="right")
        for motion in TRACKERS:
            cells = [found["scores"][f"{who}/{motion}/{where}"] for who in everyone]
            table.add_row(motion, *(_cell(c["e_mpjpe"], c["success"]) for c in cells))
        Console().print(table)
    Console().print({k: found[k] for k in ("latency_us", "parameters", "minutes")})


def _cell(error: list[float], success: list[float]) -> str:
    std = f" ± {error[1]:.1f}" if len(error) > 1 else ""
    return f"{error[0]:.1f}{std} ({100 * success[0]:.0f})"


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=Path, required=True)
    parser.add_argument("--motions", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--samples", type=int, default=400_000)
    parser.add_argument("--updates", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    how = ImitateSettings(
        samples=args.samples, updates=args.updates, rounds=args.rounds, batch=args.batch
    )
    bench = StudentBench(args.policies, args.motions, args.out, how, args.episodes, args.models)
    found = gathered(bench, args.seeds)
    show(found, bench.everyone)
    if args.json:
        write_json(args.json, found)


if __name__ == "__main__":
    main()
