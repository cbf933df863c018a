"""Control steps a second of the tracking environment, as a fraction of bare mujoco.rollout.

Environment: `WorldVecEnv` of a G1 that follows a squat, as `gapless train` uses it: observations,
rewards, terminations and resets included, no network. Baseline: mujoco.rollout on the same model,
threads and physics step, from the very states of the environments and with the same targets, one
control step a call, in the same run, the two in turns. mjlab on a CPU makes 36 to 45 a second.

    python benchmarks/tracking_speed.py --environments 512
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import mujoco
import numpy as np
import torch
from mujoco import rollout

from gapless import MujocoWorld, Robot
from gapless.artifact import write_json
from gapless.learning.world_vec_env import WorldVecEnv
from gapless.motions.motion import Motion
from gapless.motions.motion_frames import MotionFrames
from gapless.motions.references import read_motions
from gapless.motions.standing import stand
from gapless.tracking.tracker_training import TrackerTraining
from gapless.tracking.tracking_contract import tracking_contract
from gapless.tracking.train_settings import TrainSettings
from gapless.tracking.training_worlds import world_to_train_in

STEPS, TURNS = 24, 7
"""Control steps of a turn, as of an iteration of PPO; turns."""
NOISE = 0.3
"""Of actions, which a policy begins with about."""


def environment(robot: Robot, motion: Motion, count: int) -> tuple[WorldVecEnv, MujocoWorld]:
    """As `train` makes it."""
    settings = TrainSettings(environments=count)
    world = world_to_train_in(robot, settings)
    assert isinstance(world, MujocoWorld)
    frames = MotionFrames.of(motion, robot, world.rate)
    contract = tracking_contract(frames, robot, settings.preset, settings.action, world.timestep)
    job = TrackerTraining(world, frames, contract, settings, None, 0)
    return WorldVecEnv(world, job.task(world, count, "anywhere"), count), world


def play(env: WorldVecEnv, world: MujocoWorld, seed: int) -> tuple[float, list[Any]]:
    """Seconds of a turn of the environment, and the states and targets that it stepped."""
    rng, asked, seconds = np.random.default_rng(seed), list[Any](), 0.0
    for _ in range(STEPS):
        action = torch.as_tensor(NOISE * rng.normal(size=(env.num_envs, env.num_actions)))
        before = world._environments.packed.copy()
        began = time.perf_counter()
        env.step(action)
        seconds += time.perf_counter() - began
        asked.append((before, world._environments.history[:, -1].copy()))
    return seconds, asked


def bare(pool: rollout.Rollout, data: list[Any], world: MujocoWorld, asked: list[Any]) -> float:
    """Seconds of the same control steps by mujoco.rollout alone."""
    began = time.perf_counter()
    for packed, targets in asked:
        pool.rollout(world.model, data, packed, np.repeat(targets[:, None], world.substeps, axis=1))
    return time.perf_counter() - began


def compared(robot: Robot, motion: Motion, count: int) -> dict[str, float]:
    """Turns of both; medians keep a neighbour's load out of the ratio."""
    env, world = environment(robot, motion, count)
    threads = torch.get_num_threads()
    pool = rollout.Rollout(nthread=threads)
    data = [mujoco.MjData(world.model) for _ in range(threads)]
    pairs = []
    env.get_observations()  # begins the first episodes
    for turn in range(TURNS + 1):  # the first warms up
        ours, asked = play(env, world, turn)
        pairs.append((ours, bare(pool, data, world, asked)))
    ours, theirs = np.median(pairs[1:], axis=0)
    return {
        "environments": count,
        "threads": threads,
        "environment_steps_per_s": round(STEPS * count / ours),
        "bare_rollout_steps_per_s": round(STEPS * count / theirs),
        "fraction_of_bare": round(float(np.median([b / o for o, b in pairs[1:]])), 3),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="g1_23dof")
    parser.add_argument("--motion", help="file of a motion; a generated squat by default")
    parser.add_argument("--environments", type=int, default=512)
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    robot = Robot.load(args.robot, mount="free")
    motion = read_motions(args.motion, robot)[0] if args.motion else stand(robot, 8.0, seed=0)
    row = compared(robot, motion, args.environments)
    print(
        f"{row['environment_steps_per_s']} control steps/s, bare mujoco.rollout "
        f"{row['bare_rollout_steps_per_s']}, fraction {row['fraction_of_bare']} "
        f"({row['environments']} environments, {row['threads']} threads)"
    )
    if args.json:
        write_json(args.json, row)


if __name__ == "__main__":
    main()
