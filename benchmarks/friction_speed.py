"""What dry friction that depends on load and speed costs, against MuJoCo's constant friction.

Rollouts of the same motion, in turns, on one thread, CPU seconds; the baseline is native friction:
`frictionloss` alone, one call for all steps. To compare with another version, put its `src` first
in PYTHONPATH.

    python benchmarks/friction_speed.py --environments 16 64 256
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from gapless import Effects, MujocoWorld, Robot
from gapless.motions.excitation import multisine

LAWS = {
    "load": Effects(load_friction=0.1),
    "load and Stribeck": Effects(load_friction=0.1, stribeck_torque=0.1),
}


def prepared(robot: Robot, environments: int, seconds: float, effects: Effects) -> Callable:
    """A rollout, ready to be timed: copies of models that are kept are there."""
    world = MujocoWorld(robot, effects=effects, threads=1)
    motions = [multisine(robot, seconds, world.rate, seed=seed) for seed in range(8)]
    targets = np.array([motions[i % 8] for i in range(environments)])
    start = world.home(environments)
    world.rollout(start, targets[:, :2])
    return lambda: world.rollout(start, targets)


def spent(play: Callable) -> float:
    """CPU seconds."""
    begin = time.process_time()
    play()
    return time.process_time() - begin


def main() -> None:
    """Print native seconds and ratios to them, medians over the turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    print(f"{'robot':>6} {'environments':>12} {'native, s':>10}", *(f"{n:>18}" for n in LAWS))
    for name in ("g1", "so101"):
        robot = Robot.load(name, mount="fixed") if name == "g1" else Robot.load(name)
        robot = robot.with_joints(frictionloss=0.02 * robot.joints.effort)
        for environments in args.environments:
            plays = [
                prepared(robot, environments, args.seconds, effects)
                for effects in (Effects(), *LAWS.values())
            ]
            times = np.array([[spent(play) for play in plays] for _ in range(args.turns)])
            ratios = np.median(times[:, 1:] / times[:, :1], axis=0)
            native = np.median(times[:, 0])
            print(f"{name:>6} {environments:>12} {native:>10.3f}", *(f"{r:>18.2f}" for r in ratios))


if __name__ == "__main__":
    main()
