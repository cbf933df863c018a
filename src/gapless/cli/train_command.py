"""`gapless train`: a motion becomes a policy that follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gapless.cli.terminal import parse
from gapless.cli.training_options import TrainingOptions, evaluated, trained
from gapless.errors import GaplessError, unknown

if TYPE_CHECKING:
    from gapless.motions import Motion
    from gapless.robots import Robot
    from gapless.tracking import TrainSettings
    from gapless.worlds.world import World


@dataclass(frozen=True, kw_only=True)
class Train(TrainingOptions):
    """Train a policy that follows a motion, by PPO, in the simulator of its robot.

    A training that is stopped resumes when the same command is typed again.
    """

    motion: Annotated[Path, tyro.conf.Positional]
    """Motion file; see gapless motion."""
    robot: str
    """Built-in robot, or path of an .xml, .urdf or .toml."""
    pick: str | None = None
    """Only the motion of this name, of a file with several."""
    joint_order: tuple[str, ...] = ()
    """Joint names of a file that carries none; "robot" says that the order is the robot's."""
    world: str | None = None
    """Train in ENGINE[:PRESET[:UNIT]], e.g. physx:typical:2; the robot's simulator by default."""
    calibration: Path | None = None
    """Train the robot as gapless identify found it, with the load of the two-stage plan."""
    physics_step: float = 0.005
    """Longest physics step, s."""
    preset: str = "asap"
    """What it sees and what a step is worth: asap or beyondmimic."""
    action: str = "residual"
    """Actions are added to the reference (residual) or to the default pose (default)."""
    samples: float = 4e6
    """Control steps in all."""
    vary: int = 0
    """Simulators that differ as in ASAP's Table VI, at once, or within the intervals of a
    calibration; 0 is the one alone."""
    ranges: str = ""
    """With --vary, instead of these: asap (Table VI), narrow, wide or intervals."""
    sensor_noise: float = 0.0
    """Share of ASAP's noise of what the policy sees."""
    push: float = 0.0
    """Speed given to the base at once, now and then, m/s."""


def run(arguments: list[str]) -> int:
    """Parse and run."""
    args = parse(Train, "train", arguments)
    from gapless.robots import Robot
    from gapless.tracking import train

    robot = Robot.load(args.robot, lock=args.lock)
    motion, world = _motion(args, robot), _world(args, robot)
    training = partial(train, motion, world, args.out, _settings(args))
    return trained(args, training, evaluated(args, robot))


def _motion(args: Train, robot: Robot) -> Motion:
    from gapless.motions import read_motions

    found = read_motions(args.motion, robot, joint_order=args.joint_order or None)
    named = {motion.name: motion for motion in found}
    name = args.pick or next(iter(named))
    if name not in named:
        raise unknown("motion", name, named)
    return named[name]


def _world(args: Train, robot: Robot) -> World:
    from gapless.identification import Calibration
    from gapless.tracking.training_worlds import calibrated_world, nominal_world
    from gapless.worlds.named_worlds import world_of

    if args.calibration is not None and args.world is not None:
        raise GaplessError("where shall it be trained? give one of --calibration and --world")
    if args.calibration is not None:
        return calibrated_world(Calibration.load(args.calibration), robot, args.physics_step)
    if args.world is None:
        return nominal_world(robot, args.physics_step)
    return world_of(args.world, robot, args.physics_step)


def _settings(args: Train) -> TrainSettings:
    from gapless.tracking import TrainSettings

    how = TrainSettings(
        preset=args.preset,
        action=args.action,
        environments=args.environments,
        sensor_noise=args.sensor_noise,
        push=args.push,
        vary=args.vary,
        ranges=args.ranges,
    )
    noise = 1.0 if args.action == "default" else how.noise
    return replace(how, noise=noise).with_samples(args.samples)
