"""What simple feet and a quicker solver gain on the floor, and the gap that they make.

Speed: control steps a second of `MujocoWorld.step`, robots on the floor under small random targets,
in turns, on one thread, CPU seconds; ratios are to the robot as it is, in the same turn. Gap: what
the robot as it is does while it squats and sways over planted feet, replayed over 1 s in the other
worlds; medians over windows. Beside it, for size: replays in the world as it is of hidden robots
whose logs are noisy, and that differ in every way. `share` is that of their gap by noise alone.

    python benchmarks/feet_speed.py --robot g1_23dof --environments 256
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from gapless import HiddenWorld, MujocoWorld, Robot, measure
from gapless.motions.balance import Balance, on_its_feet
from gapless.motions.standing import stand
from gapless.recordings.recording import Recording
from gapless.worlds.world import World

Gaps = tuple[float, float]
"""E_g-mpjpe in mm, replay error in rad."""
NOISY = "noise of a typical log"
NOISE = ("encoder_noise", "quantisation", "gyro_noise", "imu_noise")
HIDDEN = {NOISY: NOISE, "all that is typical": None}
"""Effects of the hidden robots; None is all."""
SEED, STEPS, SIZE, HORIZON = 0, 25, 0.02, 1.0
"""Of random targets: seed, steps before robots are put back, size (rad); length of replays, s."""
FEEDBACK_STEP = 0.001
"""Physics step of the stiff robot that the feedback is computed with, s."""


def worlds_of(robot: Robot, args: argparse.Namespace) -> dict[str, MujocoWorld]:
    """The four that are compared, the robot as it is first."""
    simple = robot.with_simple_feet(args.tolerance)
    print("\n".join(simple.notes[len(robot.notes) :]))
    same = {"physics_step": args.physics_step, "threads": 1}
    quick = {"solver": args.solver, "iterations": args.iterations}
    return {
        "as it is": MujocoWorld(robot, **same),
        "simple feet": MujocoWorld(simple, **same),
        f"{args.solver}, {args.iterations} iterations": MujocoWorld(robot, **same, **quick),
        "both": MujocoWorld(simple, **same, **quick),
    }


def steps_a_second(world: MujocoWorld, environments: int) -> float:
    """Control steps of all environments in a CPU second."""
    robot, rng = world.robot, np.random.default_rng(SEED)
    moves = rng.normal(scale=SIZE, size=(STEPS, environments, len(robot.joints)))
    world.reset(world.home(environments))
    begin = time.process_time()
    for move in moves:
        world.step(robot.joints.default + move)
    return STEPS * environments / (time.process_time() - begin)


def recorded(robot: Robot, world: World, seconds: float) -> Iterator[Recording]:
    """Standing motions of those that do not fall, a clip for each window of the replay."""
    motions = [stand(robot, seconds, seed=s) for s in range(6)]
    targets = np.stack([motion.targets(robot, robot.rate) for motion in motions])
    seen, commands = Balance(robot, physics_step=FEEDBACK_STEP).play(world, targets)
    long = round(HORIZON * robot.rate) + 1
    for i in np.flatnonzero(on_its_feet(seen).all(axis=1)):
        for first in range(0, targets.shape[1] - long + 1, long - 1):
            part = slice(first, first + long)
            channels = seen[i, part].fields  # type: ignore[index]
            q, _ = channels.pop("q"), channels.pop("valid")
            yield Recording(
                name=f"{motions[i].name} {first}",
                joints=robot.joints.names,
                rate=robot.rate,
                q=q,
                target=commands[i, part],
                mask=np.ones(q.shape, bool),
                channels=channels,
            )


def gap_of(clips: list[Recording], world: MujocoWorld) -> Gaps:
    """Medians over windows."""
    found = measure(clips, world, horizons=[HORIZON]).at(HORIZON)
    points = [clip.bodies["e_g_mpjpe"] for clip in found]
    joints = [np.nanmean(clip.joints["replay_error"]) for clip in found]
    return float(np.median(points)), float(np.median(joints))


def gaps_of(worlds: dict[str, MujocoWorld], args: argparse.Namespace) -> dict[str, Gaps]:
    """Of the worlds against the first of them, then of it against hidden robots."""
    first = next(iter(worlds.values()))
    robot, seconds = first.robot, args.seconds
    mine = list(recorded(robot, first.twin(), seconds))
    print(f"{len(mine)} windows of {HORIZON:g} s")
    found = {name: gap_of(mine, world) for name, world in worlds.items()}
    for name, only in HIDDEN.items():
        world = HiddenWorld(robot, only=only, physics_step=args.physics_step, threads=1)
        found[name] = gap_of(list(recorded(robot, world, seconds)), first)
    return found


def show(speeds: np.ndarray, gaps: dict[str, Gaps]) -> None:
    """Print a line a world; (turns, worlds) speeds are of the first of them."""
    ratios, noise = np.median(speeds / speeds[:, :1], axis=0), gaps[NOISY]
    heads = ("steps/s", "ratio", "E_g-mpjpe, mm", "replay error, rad", "share")
    print("{:24} {:>8} {:>6} {:>14} {:>18} {:>13}".format("", *heads))
    for k, (name, (points, joints)) in enumerate(gaps.items()):
        timed = k < speeds.shape[1]
        speed = f"{np.median(speeds[:, k]):8.0f} {ratios[k]:6.2f}" if timed else " " * 15
        share = f"{points / noise[0]:5.2f} / {joints / noise[1]:5.2f}"
        print(f"{name:24} {speed} {points:14.3f} {joints:18.5f} {share}")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="g1_23dof")
    parser.add_argument("--environments", type=int, default=256)
    parser.add_argument("--physics-step", type=float, default=0.005)
    parser.add_argument("--tolerance", type=float, default=0.003)
    parser.add_argument("--solver", default="CG")
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=7.0, help="of each standing motion")
    parser.add_argument("--turns", type=int, default=7)
    args = parser.parse_args()
    worlds = worlds_of(Robot.load(args.robot, mount="free"), args)
    turns = range(args.turns)
    speeds = [[steps_a_second(w, args.environments) for w in worlds.values()] for _ in turns]
    show(np.array(speeds), gaps_of(worlds, args))


if __name__ == "__main__":
    main()
