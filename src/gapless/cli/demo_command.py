"""`gapless demo`: record a perturbed robot, measure it, write tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gapless.cli.terminal import console, parse, progress

if TYPE_CHECKING:
    from gapless.recordings import Recording
    from gapless.robots import Robot
    from gapless.worlds import MujocoWorld


@dataclass(frozen=True)
class Demo:
    """Record the upper body of a G1 that differs from its model, then measure the difference.

    The recorded robot has weaker gains, more friction and a command delay, and carries a tool of
    1 kg in its right hand that the log does not mention.
    """

    out: Path = Path("out/demo")
    """Folder for the dataset, the figures and the pictures; replaced when it exists."""
    clips: int = 6
    """How many motions are recorded."""
    seconds: float = 12.0
    """Length of each."""
    seed: int = 0
    """Of the motions."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Demo, "demo", arguments)
    from gapless.measure import measure
    from gapless.measure.plots import plot_recordings, require_matplotlib
    from gapless.recordings import Dataset, DatasetWriter
    from gapless.robots import Robot
    from gapless.worlds import MujocoWorld

    require_matplotlib()
    robot = Robot.load("g1", mount="fixed", lock=["legs", "waist"])
    data = args.out / "dataset"
    with (
        progress("recording") as report,
        DatasetWriter(
            data,
            robot.name,
            robot.joints.names,
            robot.rate,
            provenance={"locked": list(robot.locked)},
            overwrite=True,
        ) as writer,
    ):
        for done, clip in enumerate(_record(robot, args), start=1):
            writer.append(clip)
            report(done, args.clips)
    dataset, world = Dataset.open(data), MujocoWorld(robot)
    with progress("measuring") as report:
        gap = measure(dataset, world, attribution=True, progress=report)
    console().print(gap)
    gap.to_json(args.out / "gap.json")
    pictures = list(plot_recordings(dataset, world, args.out / "pictures", most=2))
    pictures.append(gap.plot(args.out / "pictures" / "gap.png"))
    console().print(f"dataset   {data}\nfigures   {args.out / 'gap.json'}")
    console().print("\n".join(f"picture   {path}" for path in pictures))
    return 0


def _perturbed(robot: Robot) -> MujocoWorld:
    """A robot that its own model does not describe."""
    from gapless.robots import Payload
    from gapless.worlds import Effects, MujocoWorld

    joints = robot.joints
    tool = {robot.end_effectors[-1].body: Payload(1.0)}
    real = robot.with_payloads(tool).with_joints(
        kp=0.85 * joints.kp, frictionloss=joints.frictionloss + 0.03 * joints.effort
    )
    return MujocoWorld(real, effects=Effects(delay=0.012))


def _record(robot: Robot, args: Demo) -> Iterator[Recording]:
    from gapless.motions.excitation import multisine
    from gapless.recordings import Conditions
    from gapless.worlds.record import record

    world = _perturbed(robot)
    noise = np.random.default_rng(args.seed)
    for clip in range(args.clips):
        motion = multisine(robot, args.seconds, world.rate, seed=args.seed + clip)
        taken = record(world, motion, f"multisine_{clip}", start=world.home())
        q = taken.q + noise.normal(0, 2e-4, taken.q.shape)
        yield replace(taken, q=q, conditions=Conditions(unit="demo", mount="fixed"))
