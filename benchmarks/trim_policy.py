"""What a trim does for a tracker on a robot that is known, with and without it.

The robot is a made-up one in MuJoCo: softer drives, a load, an IMU that sits askew, a delay. The
tracker is tuned there with equal samples, trimmed first or by PPO alone (`--trim 0`), and judged
there by episodes that chose nothing.

    python benchmarks/trim_policy.py kick.pkl --policy kick.toml --trim 2
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gapless import MujocoWorld, Policy, Robot, Scenario, World, evaluate, finetune
from gapless.artifact import write_json
from gapless.cli.terminal import progress
from gapless.motions.motion import Motion
from gapless.motions.references import read_motions
from gapless.robots import Payload
from gapless.tracking.policy_loop import SCORES, scores_of
from gapless.tracking.training import FINETUNED
from gapless.worlds.effects import Effects

GAINS = (0.75, 0.7)
"""What the drives make of kp and kd."""
LOAD = {"torso_link": Payload(mass=4.0)}
EFFECTS = Effects(delay=0.018, imu_pitch=-0.055, imu_roll=0.02)
RUB = 0.3
"""Dry friction more than nominal, N·m."""
ALONE = replace(
    FINETUNED,
    noise=0.1,
    sensor_noise=0.0,
    push=0.0,
    vary=0,
    ranges="",
    ppo=replace(FINETUNED.ppo, rate=2e-5),
)
"""Tuned in the robot itself, which needs no variation."""


def altered(robot: Robot) -> World:
    """The made-up robot."""
    soft = replace(robot, gain_errors=dict.fromkeys(robot.joints.names, GAINS))
    rubbing = soft.with_joints(frictionloss=robot.joints.frictionloss + RUB)
    world = rubbing.with_payloads(LOAD)
    return MujocoWorld(world, 50, effects=EFFECTS, physics_step=0.002)


def scored(policy: Policy, world: World, motion: Motion) -> dict[str, float]:
    """ASAP's columns."""
    return scores_of(evaluate(policy, {"robot": world}, Scenario(32, seed=177), motion=motion))


def main() -> None:
    """Parse, tune, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("motion", type=Path)
    parser.add_argument("--policy", type=Path, required=True, help="contract of a tracker")
    parser.add_argument("--trim", type=int, default=2)
    parser.add_argument("--samples", type=float, default=6e5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/trim_policy"))
    args = parser.parse_args()
    robot = Robot.load("g1_23dof", mount="free")
    motion, policy = read_motions(args.motion, robot)[0], Policy.load(args.policy)
    how = replace(ALONE, trim=args.trim).with_samples(args.samples)
    folder = args.out / f"{motion.name}_trim{args.trim}_{args.seed}"
    with progress("tuning") as watch:
        tuned = finetune(
            *(policy, altered(robot), folder, how),
            motion=motion,
            seed=args.seed,
            overwrite=True,
            watch=watch,
        )
    rows = {
        "own world": scored(policy, MujocoWorld(robot), motion),
        "before": scored(policy, altered(robot), motion),
        "after": scored(tuned, altered(robot), motion),
    }
    write_json(folder.with_suffix(".json"), rows)
    table = Table("", *SCORES, title=f"{motion.name} on the made-up robot, trim {args.trim}")
    for name, row in rows.items():
        table.add_row(name, *(f"{row[column]:.3g}" for column in SCORES))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
