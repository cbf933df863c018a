"""`gapless train`: a motion becomes a policy that follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.stopping import stoppable, stopped
from gapless.cli.terminal import check_outputs, console, parse
from gapless.cli.tracker_view import report_tracker, shown_tracker
from gapless.errors import unknown

if TYPE_CHECKING:
    from gapless.motions import Motion
    from gapless.robots import Robot
    from gapless.tracking import TrainSettings
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a policy that follows a motion, by PPO, in the simulator of its robot.

    A training that is stopped resumes when the same command is typed again.
    """

    motion: Annotated[Path, tyro.conf.Positional]
    """Motion file; see gapless motion."""
    out: Path
    """Folder for the policy."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    lock: tuple[str, ...] = ()
    """Joints or joint groups to weld at their default angle."""
    pick: str | None = None
    """Only the motion of this name, of a file with several."""
    joint_order: tuple[str, ...] = ()
    """Joint names of a file that carries none; "robot" says that the order is the robot's."""
    world: str | None = None
    """Train in ENGINE[:PRESET[:UNIT]], e.g. physx:typical:2; the robot's simulator by default."""
    physics_step: float = 0.005
    """Longest physics step of a --world, s."""
    preset: str = "asap"
    """What it sees and what a step is worth: asap or beyondmimic."""
    action: str = "residual"
    """Actions are added to the reference (residual) or to the default pose (default)."""
    samples: float = 4e6
    """Control steps in all."""
    environments: int = 512
    """At once."""
    vary: int = 0
    """Simulators that differ as in ASAP's Table VI, at once; 0 is the nominal one alone."""
    sensor_noise: float = 0.0
    """Share of ASAP's noise of what the policy sees."""
    push: float = 0.0
    """Speed given to the base at once, now and then, m/s."""
    seed: int = 0
    """Of everything drawn."""
    log: Path | None = None
    """Folder for TensorBoard files."""
    restart: bool = False
    """Forget what a stopped training of this name has done."""
    overwrite: bool = False
    """Replace a policy that is already there."""
    json: Path | None = None
    """File for the numbers."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Train, "train", arguments)
    from gapless.learning.tensorboard import logged
    from gapless.robots import Robot
    from gapless.tracking import train

    check_outputs(args.out, args.json)
    robot = Robot.load(args.robot, lock=args.lock)
    motion, world = _motion(args, robot), _world(args, robot)
    checkpoint = checkpoint_of(args.out)
    try:
        with stoppable(), logged(args.log) as log, shown_tracker(log) as watch:
            policy = train(
                *(motion, world, args.out, _settings(args)),
                seed=args.seed,
                checkpoint=checkpoint,
                restart=args.restart,
                overwrite=args.overwrite,
                watch=watch,
            )
    except KeyboardInterrupt as stop:
        return stopped(stop, checkpoint.exists())
    report_tracker(policy, args.json)
    console(stderr=True).print(f"next: gapless evaluate {args.out}")
    return 0


def checkpoint_of(out: Path) -> Path:
    """The file beside a policy that its training keeps."""
    return out.with_name(f".{out.name}.progress.safetensors")


def _motion(args: Train, robot: Robot) -> Motion:
    from gapless.motions import read_motions

    found = read_motions(args.motion, robot, joint_order=args.joint_order or None)
    named = {motion.name: motion for motion in found}
    name = args.pick or next(iter(named))
    if name not in named:
        raise unknown("motion", name, named)
    return named[name]


def _world(args: Train, robot: Robot) -> World:
    from gapless.tracking.training import training_world
    from gapless.tracking.varied_worlds import varied_world
    from gapless.worlds.named_worlds import world_of

    if args.world is None:
        return training_world(robot, _settings(args), args.seed)
    world = world_of(args.world, robot, args.physics_step)
    return varied_world(world, args.vary, args.seed) if args.vary else world


def _settings(args: Train) -> TrainSettings:
    from gapless.tracking import TrainSettings

    how = TrainSettings(
        preset=args.preset,
        action=args.action,
        environments=args.environments,
        sensor_noise=args.sensor_noise,
        push=args.push,
        vary=args.vary,
    )
    noise = 1.0 if args.action == "default" else how.noise
    return replace(how, noise=noise).with_samples(args.samples)
